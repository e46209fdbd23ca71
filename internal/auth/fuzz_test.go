package auth_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/auth/authtest"
)

// FuzzAuthorization throws headers at the verifier: none may crash it, and none
// but the honest token, under any spelling of its scheme, may get in.
func FuzzAuthorization(f *testing.F) {
	is := authtest.NewIssuer(f)
	verifier, err := auth.New(is.Config("acme"))
	if err != nil {
		f.Fatal(err)
	}
	honest := is.Token("acme", "ann", auth.AllScopes()) // as the forgeries pretend to be
	f.Add("Bearer " + honest)
	for _, forgery := range authtest.Forgeries(f, is, "acme", "ann") {
		for _, value := range forgery.Header["Authorization"] {
			f.Add(value)
		}
	}
	f.Fuzz(func(t *testing.T, value string) {
		_, err := verifier.Authenticate(&http.Request{Header: http.Header{"Authorization": {value}}})
		if err != nil {
			return
		}
		scheme, token, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") || strings.TrimLeft(token, " ") != honest {
			t.Errorf("a header that is not the honest token was accepted: %q", value)
		}
	})
}
