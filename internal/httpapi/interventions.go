package httpapi

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/flow"
)

// The bodies of actions, for the document. What is read is what action reads.
type (
	haltBody struct {
		ReasonCode string `json:"reason_code" minLength:"1" maxLength:"128" doc:"A usable reason code of scope halt, such as manual_halt"`
		Note       string `json:"note,omitempty" maxLength:"4096" doc:"Some reason codes need one"`
	}
	becauseBody struct {
		Reason string `json:"reason" minLength:"1" maxLength:"4096"`
	}
	retryBody struct {
		StepID        string         `json:"step_id,omitempty" doc:"Default: the step that the case halted at"`
		Reason        string         `json:"reason" minLength:"1" maxLength:"4096"`
		InputOverride map[string]any `json:"input_override,omitempty" doc:"Members that replace those of the request"`
	}
	setModeBody struct {
		Mode   string `json:"mode" enum:"active,client_driven"`
		Reason string `json:"reason" minLength:"1" maxLength:"4096"`
	}
	supersedeBody struct {
		Reason string `json:"reason" minLength:"1" maxLength:"4096"`
		Mode   string `json:"mode,omitempty" enum:"active,client_driven" doc:"Default: the mode of the old instance"`
	}
	skipBody struct {
		StepID  string         `json:"step_id" doc:"A live step, or the one that the case halted at"`
		Outcome string         `json:"outcome" doc:"The transition to follow"`
		Output  map[string]any `json:"output,omitempty" doc:"Checked against the kind's output schema and put into the context"`
		Reason  string         `json:"reason" minLength:"1" maxLength:"4096"`
	}
	completeBody struct {
		StepID  string         `json:"step_id" doc:"A manual step that waits"`
		Outcome string         `json:"outcome" doc:"One of the step's outcomes"`
		Output  map[string]any `json:"output,omitempty" doc:"Checked against the step's form"`
		Note    string         `json:"note,omitempty" maxLength:"4096"`
	}
	migrateBody struct {
		ToDefinitionID string            `json:"to_definition_id,omitempty" format:"uuid" doc:"Default: the active definition of the case's product"`
		StepMap        map[string]string `json:"step_map,omitempty" doc:"Live step → step of the target. Steps of the same name map by themselves"`
		Reason         string            `json:"reason,omitempty" maxLength:"4096"`
		DryRun         bool              `json:"dry_run,omitempty" doc:"Say what would happen and change nothing"`
	}
)

type interventionsOut struct{ Body page[intervention] }

// intervention is a workflow_intervention on the wire.
type intervention struct {
	ID          string  `json:"id" format:"uuid"`
	InstanceID  string  `json:"instance_id" format:"uuid"`
	Action      string  `json:"action"`
	PerformedBy string  `json:"performed_by"`
	Reason      *string `json:"reason"`
	Before      anyJSON `json:"before_state" doc:"Where the instance stood before"`
	After       anyJSON `json:"after_state" doc:"Where it stood after"`
	CreatedAt   instant `json:"created_at"`
}

func (a *API) registerInterventions(r *registrar) {
	handle(r, "list-interventions", nil, a.listInterventions)
	for id, route := range map[string]struct {
		action rondo.ActionName
		body   any
	}{
		"halt-instance":      {rondo.ActionHalt, haltBody{}},
		"resume-instance":    {rondo.ActionResume, becauseBody{}},
		"cancel-instance":    {rondo.ActionCancel, becauseBody{}},
		"retry-step":         {rondo.ActionRetryStep, retryBody{}},
		"set-mode":           {rondo.ActionSetMode, setModeBody{}},
		"supersede-instance": {rondo.ActionSupersede, supersedeBody{}},
		"skip-step":          {rondo.ActionSkipStep, skipBody{}},
		"complete-step":      {rondo.ActionCompleteStep, completeBody{}},
	} {
		handle(r, id, route.body, a.act(route.action))
	}
	handle(r, "migrate-instance", migrateBody{}, a.migrate)
	r.oneOf("migrate-instance", reflect.TypeFor[Instance](), reflect.TypeFor[migrationPlan]())
}

func (a *API) listInterventions(ctx context.Context, c *call) (*interventionsOut, error) {
	rows, err := a.cfg.Cases.Interventions(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	out := make([]intervention, 0, len(rows))
	for _, row := range rows {
		out = append(out, intervention{
			ID: row.ID.String(), InstanceID: row.InstanceID.String(), Action: row.Action, PerformedBy: row.PerformedBy, Reason: maybe(row.Reason),
			Before: anyJSON(row.Before), After: anyJSON(row.After), CreatedAt: instant(row.CreatedAt),
		})
	}
	body, err := pageOf(c.query, listDeeds, out, func(i intervention) string { return i.ID })
	return &interventionsOut{Body: body}, err
}

// act is the handler of an action.
func (a *API) act(name rondo.ActionName) func(context.Context, *call) (*instanceOut, error) {
	return func(ctx context.Context, c *call) (*instanceOut, error) {
		action, err := readAction(name, c.body)
		if err != nil {
			return nil, err
		}
		i, err := a.cfg.Cases.Act(ctx, c.principal, c.id, action)
		if err != nil {
			return nil, err
		}
		return &instanceOut{Body: viewInstance(i)}, nil
	}
}

// readAction reads the body of an action: exactly the members that it knows. It
// is what bulk actions read their params with, too.
func readAction(name rondo.ActionName, raw []byte) (rondo.Action, error) {
	action := rondo.Action{Name: name}
	err := decode(raw, actionMembers(&action)...)
	return action, err
}

func actionMembers(a *rondo.Action) []member {
	because := member{name: "reason", required: true, text: &a.Reason}
	switch a.Name {
	case rondo.ActionHalt:
		return []member{{name: "reason_code", required: true, identifier: true, text: &a.ReasonCode}, {name: "note", text: &a.Note}}
	case rondo.ActionRetryStep:
		return []member{{name: "step_id", identifier: true, text: &a.StepID}, because, object("input_override", &a.InputOverride)}
	case rondo.ActionSetMode:
		return []member{mode(&a.Mode, true), because}
	case rondo.ActionSupersede:
		return []member{because, mode(&a.Mode, false)}
	case rondo.ActionSkipStep:
		return []member{
			{name: "step_id", required: true, identifier: true, text: &a.StepID},
			{name: "outcome", required: true, identifier: true, text: &a.Outcome},
			object("output", &a.Output), because,
		}
	case rondo.ActionCompleteStep:
		return []member{
			{name: "step_id", required: true, identifier: true, text: &a.StepID},
			{name: "outcome", required: true, identifier: true, text: &a.Outcome},
			object("output", &a.Output),
			{name: "note", text: &a.Note},
		}
	case rondo.ActionMigrate:
		return []member{uuid("to_definition_id", &a.ToDefinition), stepMap(&a.StepMap), {name: "reason", text: &a.Reason}}
	default:
		return []member{because}
	}
}

// object is a member that takes a JSON object as it is.
func object(name string, into *json.RawMessage) member {
	return member{name: name, raw: func(value []byte) *rondo.FieldError {
		if len(value) == 0 || value[0] != '{' {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be an object"}
		}
		*into = append(json.RawMessage(nil), value...)
		return nil
	}}
}

func mode(into *rondo.Mode, required bool) member {
	return member{name: "mode", required: required, raw: func(value []byte) *rondo.FieldError {
		text, _ := canon.Text(value)
		switch given := rondo.Mode(text); given {
		case rondo.ModeActive, rondo.ModeClientDriven:
			*into = given
			return nil
		}
		return &rondo.FieldError{Code: "unknown_value", Pointer: "/mode", Message: "use active or client_driven"}
	}}
}

func uuid(name string, into *rondo.ID) member {
	return member{name: name, raw: func(value []byte) *rondo.FieldError {
		text, _ := canon.Text(value)
		id, err := rondo.ParseID(string(text))
		if err != nil || id.IsZero() {
			return &rondo.FieldError{Code: "not_a_uuid", Pointer: "/" + name, Message: name + " must be a UUID"}
		}
		*into = id
		return nil
	}}
}

// stepMap takes an object of step ids.
func stepMap(into *map[string]string) member {
	return member{name: "step_map", raw: func(value []byte) *rondo.FieldError {
		var given map[string]*string
		wrong := json.Unmarshal(value, &given) != nil
		out := make(map[string]string, len(given))
		for from, to := range given {
			if to == nil || !identifier(from) || !identifier(*to) {
				wrong = true
				break
			}
			out[from] = *to
		}
		if wrong {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/step_map", Message: "step_map must be an object whose members are step ids, such as {\"old_review\": \"review\"}"}
		}
		*into = out
		return nil
	}}
}

// planOut is an instance, or the plan of a migration that was not done.
type planOut struct{ Body any }

// migrationPlan says what a migration would do.
type migrationPlan struct {
	InstanceID string     `json:"instance_id" format:"uuid"`
	Verdict    string     `json:"verdict" enum:"moves,needs_mapping,cannot" doc:"It moves by itself or by the step map; it needs a (better) step map; no step map helps"`
	Reason     *string    `json:"reason" doc:"Why it does not move; null when it does"`
	Steps      []stepMove `json:"steps" nullable:"false" doc:"Where each step goes that is in flight"`
	Renamed    stepNames  `json:"renamed" doc:"Finished step → what step_map calls it from then on"`
	Warnings   []string   `json:"warnings" nullable:"false" doc:"What of the target would not work out for this case, such as a condition that reads a step which finished under another name"`
}

// stepNames are step ids by step ids; none is an empty object.
type stepNames map[string]string

// MarshalJSON never writes null.
func (n stepNames) MarshalJSON() ([]byte, error) {
	if n == nil {
		n = stepNames{}
	}
	return json.Marshal(map[string]string(n))
}

type stepMove struct {
	From     string   `json:"from"`
	To       *string  `json:"to" doc:"Null = nowhere"`
	State    string   `json:"state" enum:"live,fork,halted" doc:"An attempt is open; a parallel step with branches in flight; the halt goes back to it"`
	Attempt  *int     `json:"attempt" doc:"Of the open attempt; null = none is open"`
	Reason   *string  `json:"reason" doc:"Why it goes nowhere"`
	Possible []string `json:"possible" nullable:"false" doc:"Steps that a step map could send it to"`
}

// migrate moves an instance to another definition, or says what that would do.
func (a *API) migrate(ctx context.Context, c *call) (*planOut, error) {
	action, dryRun := rondo.Action{Name: rondo.ActionMigrate}, false
	if err := decode(c.body, append(actionMembers(&action), truth("dry_run", &dryRun))...); err != nil {
		return nil, err
	}
	if dryRun {
		plan, err := a.cfg.Cases.PlanMigration(ctx, c.principal, c.id, action)
		if err != nil {
			return nil, err
		}
		return &planOut{Body: viewPlan(c.id, plan)}, nil
	}
	i, err := a.cfg.Cases.Act(ctx, c.principal, c.id, action)
	if err != nil {
		return nil, err
	}
	return &planOut{Body: viewInstance(i)}, nil
}

func viewPlan(id rondo.ID, plan flow.MigrationPlan) migrationPlan {
	out := migrationPlan{
		InstanceID: id.String(), Verdict: string(plan.Verdict), Reason: maybe(plan.Reason), Steps: []stepMove{},
		Renamed: plan.Renamed, Warnings: present(plan.Warnings),
	}
	for _, move := range plan.Steps {
		out.Steps = append(out.Steps, stepMove{
			From: move.From, To: maybe(move.To), State: move.State, Attempt: maybeNumber(move.Attempt), Reason: maybe(move.Reason), Possible: present(move.Possible),
		})
	}
	return out
}

// oneOf documents an answer that has one of several forms.
func (r *registrar) oneOf(id string, forms ...reflect.Type) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	schema := &huma.Schema{}
	for _, form := range forms {
		schema.OneOf = append(schema.OneOf, r.huma.OpenAPI().Components.Schemas.Schema(form, true, ""))
	}
	r.described(row).Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
}
