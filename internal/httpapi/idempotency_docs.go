package httpapi

import (
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// keyParams documents the headers that carry an idempotency key, which is kept for
// so long.
func keyParams(kept string) []*huma.Param {
	least, most := 1, maxKey
	schema := &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most}
	return []*huma.Param{
		{Name: keyHeader, In: "header", Schema: schema, Description: "Repeating the request with the same key gives the same answer and does nothing more; kept for " + kept},
		{Name: olderKeyHeader, In: "header", Schema: schema, Description: "The same, for older clients"},
	}
}

// describeReplays documents the headers of answers that were given before.
func (r *registrar) describeReplays() {
	for _, row := range r.api.Routes() {
		if !row.keyed() && !row.Keyed {
			continue
		}
		for status, answer := range r.described(row).Responses {
			if code, err := strconv.Atoi(status); err != nil || code >= 300 {
				continue
			}
			if answer.Headers == nil {
				answer.Headers = map[string]*huma.Header{}
			}
			answer.Headers[replayedHeader] = &huma.Header{Description: "true: the answer was given before, under the same key", Schema: &huma.Schema{Type: huma.TypeString}}
			answer.Headers[cacheHitHeader] = &huma.Header{Description: "The same, for older clients", Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
}
