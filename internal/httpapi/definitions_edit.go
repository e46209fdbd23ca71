package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
)

// editDefinition changes a draft that the caller has seen as it is now.
func (a *API) editDefinition(ctx context.Context, c *call) (*definitionOut, error) {
	var change rondo.DefinitionPatch
	var product string
	err := decode(c.body,
		member{name: "definition", raw: func(value []byte) *rondo.FieldError { return takeSource(value, &change.Source) }},
		orNull(given(member{name: "product_id", identifier: true, text: &product}, func() { change.ProductID = &product })),
		member{name: "reason", text: &change.Reason},
	)
	if err != nil {
		return nil, err
	}
	if change.Source == nil && change.ProductID == nil {
		return nil, badBody(rondo.FieldError{Code: "nothing_to_do", Pointer: "", Message: "give definition, product_id or both"})
	}
	if change.Match, err = ifMatch(c.header); err != nil {
		return nil, err
	}
	return oneDefinition(a.cfg.Definitions.ChangeDraft(ctx, c.principal, c.id, change))
}

// ifMatch reads the revisions that If-Match names; nil = any. A weak tag never
// matches, as the standard says.
func ifMatch(header http.Header) ([]int64, error) {
	value := strings.Join(header.Values("If-Match"), ",")
	if strings.TrimSpace(value) == "" {
		return nil, &rondo.Error{
			Code: rondo.CodePreconditionRequired, Message: "If-Match is missing",
			Hint: "send the ETag of the draft as you read it, so that nobody's change is lost",
		}
	}
	revisions := []int64{}
	for tag := range strings.SplitSeq(value, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" {
			return nil, nil
		}
		quoted, weak := strings.CutPrefix(tag, "W/")
		if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			return nil, &rondo.Error{
				Code: rondo.CodeInvalid, Message: "If-Match is not an entity tag", Hint: `send the ETag with its quotes, such as If-Match: "3"`,
			}
		}
		// A tag that is no number is not one of ours: it matches nothing.
		if revision, err := strconv.ParseInt(quoted[1:len(quoted)-1], 10, 64); err == nil && !weak {
			revisions = append(revisions, revision)
		}
	}
	return revisions, nil
}

// documentIfMatch says in the document that a route needs the header.
func (r *registrar) documentIfMatch(id string) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	op := r.described(row)
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: "If-Match", In: "header", Required: true, Description: "ETag of what was read; * matches any", Schema: &huma.Schema{Type: huma.TypeString},
	})
}

func (a *API) cloneDefinition(ctx context.Context, c *call) (*definitionOut, error) {
	var wanted rondo.DefinitionCopy
	var product string
	err := decode(c.body,
		orNull(given(member{name: "product_id", identifier: true, text: &product}, func() { wanted.ProductID = &product })),
		member{name: "name", text: &wanted.Name},
		member{name: "reason", text: &wanted.Reason},
	)
	if err != nil {
		return nil, err
	}
	return newlyMade(a.cfg.Definitions.CloneDefinition(ctx, c.principal, c.id, wanted))
}

func (a *API) listRevisions(ctx context.Context, c *call) (*revisionsOut, error) {
	revisions, err := a.cfg.Definitions.Revisions(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, listRevisions, viewed(revisions, viewRevision), func(r revision) string { return r.ID })
	return &revisionsOut{Body: body}, err
}

func (a *API) diffDefinitions(ctx context.Context, c *call) (*differenceOut, error) {
	if !c.query.Has("against") {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the query string is not accepted", Hint: "correct what errors lists",
			Fields: []rondo.FieldError{{Code: "required", Pointer: "query/against", Message: "name the definition to compare with"}},
		}
	}
	diff, err := a.cfg.Definitions.DiffDefinitions(ctx, c.principal, queryID(c.query, "against"), c.id)
	if err != nil {
		return nil, err
	}
	return &differenceOut{Body: viewDifference(diff)}, nil
}
