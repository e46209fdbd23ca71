package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/store"
)

// bulkBody documents the body of POST /workflow-instances/bulk.
type bulkBody struct {
	Filter bulkFilter     `json:"filter" doc:"The filters of GET /workflow-instances, by the same names; at least one besides org_id"`
	Action string         `json:"action" enum:"halt,resume,cancel,retry_step,set_mode,supersede,skip_step,migrate"`
	Params map[string]any `json:"params,omitempty" doc:"What the action takes as its body when it is done to one instance"`
	DryRun bool           `json:"dry_run,omitempty" doc:"Count the instances, show some of them, and do nothing"`
}

type bulkFilter struct {
	OrgID        string `json:"org_id,omitempty"`
	CaseID       string `json:"case_id,omitempty"`
	ProductID    string `json:"product_id,omitempty"`
	Status       string `json:"status,omitempty" enum:"running,halted,completed,cancelled"`
	Mode         string `json:"mode,omitempty" enum:"active,client_driven"`
	DefinitionID string `json:"definition_id,omitempty" format:"uuid"`
	ReasonCode   string `json:"reason_code,omitempty"`
	StepID       string `json:"step_id,omitempty"`
	StartedFrom  string `json:"started_from,omitempty" format:"date-time"`
	StartedTo    string `json:"started_to,omitempty" format:"date-time"`
	OlderThan    string `json:"older_than,omitempty"`
	YoungerThan  string `json:"younger_than,omitempty"`
	Tag          string `json:"tag,omitempty"`
	Where        string `json:"where,omitempty"`
}

// bulkRequest is the body as it is read.
type bulkRequest struct {
	org    string // that the filter names; "" = none
	filter store.InstanceFilter
	given  json.RawMessage
	action rondo.Action
	dryRun bool
}

// readBulk reads the body and tells all that is wrong with it at once.
func readBulk(raw []byte, now time.Time) (bulkRequest, error) {
	var request bulkRequest
	var name string
	params := json.RawMessage("{}")
	filter := object("filter", &request.given)
	filter.required = true
	err := decode(raw, filter, member{name: "action", required: true, text: &name}, object("params", &params), truth("dry_run", &request.dryRun))
	wrong := fieldsOf(err, "")
	if err != nil && len(wrong) == 0 {
		return bulkRequest{}, err
	}
	if request.given != nil {
		values, bad := readFilter(request.given)
		wrong = append(wrong, bad...)
		request.org, request.filter = values.Get("org_id"), instanceFilter(values, "", now)
	}
	request.action.Name = rondo.ActionName(name)
	switch {
	case name == "":
	case !slices.Contains(rondo.BulkActions(), request.action.Name):
		wrong = append(wrong, rondo.FieldError{Code: "unknown_value", Pointer: "/action", Message: "use one of " + words(rondo.BulkActions())})
	default:
		request.action, err = readAction(request.action.Name, params)
		wrong = append(wrong, fieldsOf(err, "/params")...)
	}
	if len(wrong) > 0 {
		return bulkRequest{}, badBody(wrong...)
	}
	return request, nil
}

// fieldsOf are what an error lists, below a place of the body.
func fieldsOf(err error, below string) []rondo.FieldError {
	known, ok := errors.AsType[*rondo.Error](err)
	if !ok {
		return nil
	}
	fields := slices.Clone(known.Fields)
	for i := range fields {
		fields[i].Pointer = below + fields[i].Pointer
	}
	return fields
}

func words(names []rondo.ActionName) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = string(name)
	}
	return strings.Join(list, ", ")
}

// bulkFilters are the filters of the list, without what is about its pages.
func bulkFilters() []Param {
	return slices.DeleteFunc(instanceFilters(), func(p Param) bool { return p.Name == "limit" || p.Name == "cursor" })
}

// readFilter reads a filter as the query of the list would be read.
func readFilter(raw json.RawMessage) (url.Values, []rondo.FieldError) {
	values := url.Values{}
	var wrong []rondo.FieldError
	params := bulkFilters()
	members := make([]member, len(params))
	for i, param := range params {
		members[i] = member{name: param.Name, raw: func(value []byte) *rondo.FieldError {
			text, ok := canon.Text(value)
			if !ok {
				return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + param.Name, Message: param.Name + " must be a string"}
			}
			if code, message := param.check(string(text)); code != "" {
				return &rondo.FieldError{Code: code, Pointer: "/" + param.Name, Message: message}
			}
			values.Set(param.Name, string(text))
			return nil
		}}
	}
	wrong = fieldsOf(decode(raw, members...), "/filter")
	if len(wrong) == 0 && (len(values) == 0 || len(values) == 1 && values.Has("org_id")) {
		wrong = append(wrong, rondo.FieldError{Code: "required", Pointer: "/filter", Message: "name at least one member besides org_id: a job is never about everything"})
	}
	return values, wrong
}

// actForOrg puts the organisation that an admin names in a body in the place of
// their own.
func (c *call) actForOrg(org string) error {
	if org == "" || org == c.principal.Tenant {
		return nil
	}
	if !c.principal.Admin() {
		return &rondo.Error{Code: rondo.CodeForbidden, Message: "only an admin may act for another organisation", Hint: "leave org_id out"}
	}
	c.principal.Tenant = org
	return nil
}

func statusText(status int) string { return strconv.Itoa(status) }

func viewPreview(p rondo.BulkPreview) bulkPreview {
	out := bulkPreview{Count: p.Count, Sample: []Instance{}}
	for _, i := range p.Sample {
		out.Sample = append(out.Sample, viewInstance(i))
	}
	if p.Migration == nil {
		return out
	}
	told := &migrationPreview{
		Verdicts: migrationVerdicts{
			Moves: p.Migration.Verdicts[rondo.MigrationMoves], NeedsMapping: p.Migration.Verdicts[rondo.MigrationNeedsMapping],
			Cannot: p.Migration.Verdicts[rondo.MigrationCannot],
		},
		Reasons: []migrationReason{}, Items: []migrationForecast{},
	}
	for reason, n := range p.Migration.Reasons {
		told.Reasons = append(told.Reasons, migrationReason{reason, n})
	}
	slices.SortFunc(told.Reasons, func(a, b migrationReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	for _, item := range p.Migration.Items {
		told.Items = append(told.Items, migrationForecast{
			InstanceID: item.InstanceID.String(), CaseID: item.CaseID, Verdict: string(item.Verdict), Reason: maybe(item.Reason), Steps: item.Steps,
			Renamed: item.Renamed, Warnings: present(item.Warnings),
		})
	}
	out.Migration = maybeMigration{told}
	return out
}
