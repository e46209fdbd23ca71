package cli

import (
	"errors"
	"os"

	"github.com/alecthomas/kong"
)

// rule is one thing that flags must hold, with the sentence for when they do not.
type rule struct {
	holds    bool
	sentence string
}

// firstWrong returns the first rule that does not hold as an error.
func firstWrong(rules ...rule) error {
	for _, r := range rules {
		if !r.holds {
			return errors.New(r.sentence)
		}
	}
	return nil
}

// unsetEmpty removes the variables of flags that are set to nothing: that is how
// container tools say "not set", and the parser would take it for a value.
func unsetEmpty(model *kong.Application) error {
	return kong.Visit(model, func(node kong.Visitable, next kong.Next) error {
		flag, ok := node.(*kong.Flag)
		if !ok {
			return next(nil)
		}
		for _, name := range flag.Envs {
			if value, set := os.LookupEnv(name); !set || value != "" {
				continue
			}
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
		return next(nil)
	})
}
