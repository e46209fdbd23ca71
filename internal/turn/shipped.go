package turn

import (
	"embed"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

//go:embed shipped/*.json
var shippedFiles embed.FS

// Shipped are the definitions that come with Rondo, as JSON by name. The caller
// owns the result.
func Shipped() map[string][]byte {
	shipped := map[string][]byte{}
	for _, name := range []string{"default", "payment"} {
		if body, err := shippedFiles.ReadFile("shipped/" + name + ".json"); err == nil { // a test holds that they are there
			shipped[name] = body
		}
	}
	return shipped
}

// ShippedDefinition compiles a definition that comes with Rondo; CodeNotFound when
// there is none of that name.
func ShippedDefinition(name string) (*Definition, error) {
	body, there := Shipped()[name]
	if !there {
		return nil, rondo.NotFound("shipped definition")
	}
	d, problems := Compile(body)
	if len(problems) > 0 {
		var all []string
		for _, p := range problems {
			all = append(all, p.Pointer+" "+p.Message)
		}
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: "compile " + name, Err: fmt.Errorf("%s", strings.Join(all, "; "))}
	}
	return d, nil
}
