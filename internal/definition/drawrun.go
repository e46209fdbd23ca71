package definition

import "encoding/json"

// drawRun draws the steps of a run and what each waits for. Dependencies that
// are not there are left out.
func drawRun(body json.RawMessage, p *problems) *drawing {
	var run struct {
		Name  string        `json:"name"`
		Steps []runStepJSON `json:"steps"`
	}
	if err := json.Unmarshal(body, &run); err != nil {
		p.add("invalid_json", "", "%s", err)
		return nil
	}
	g := &graph{out: map[string][]edge{}}
	nodes := map[string]drawnNode{}
	for _, step := range run.Steps {
		if _, twice := nodes[step.ID]; !twice {
			nodes[step.ID] = drawnNode{name: step.ID, sub: step.Skill}
			g.nodes = append(g.nodes, step.ID)
		}
	}
	for _, step := range run.Steps {
		for _, need := range step.DependsOn {
			if _, exists := nodes[need]; exists {
				g.out[need] = append(g.out[need], edge{from: need, to: step.ID})
			}
		}
	}
	return drawGraph(run.Name, g, nodes)
}
