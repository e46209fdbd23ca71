package auth

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/rondo-engine/rondo"
)

// maxToken bounds what is looked at before anything is decoded.
const maxToken = 8 << 10

// verifier checks bearer tokens against the published keys of one issuer.
type verifier struct {
	cfg     Config
	keys    *keyring
	tenants map[string]bool
}

var _ Authenticator = (*verifier)(nil)

func newVerifier(cfg Config) *verifier {
	v := &verifier{cfg: cfg, keys: newKeyring(cfg), tenants: make(map[string]bool, len(cfg.Tenants))}
	for _, t := range cfg.Tenants {
		v.tenants[t] = true
	}
	return v
}

// Authenticate checks the one bearer token of the request.
func (v *verifier) Authenticate(r *http.Request) (rondo.Principal, error) {
	token, err := bearer(r.Header)
	if err != nil {
		return rondo.Principal{}, err
	}
	payload, err := v.verify(r.Context(), token)
	if err != nil {
		return rondo.Principal{}, err
	}
	var claims map[string]jsontext.Value
	if err := json.Unmarshal(payload, &claims); err != nil || claims == nil {
		return rondo.Principal{}, invalid("its claims are not a JSON object with distinct members")
	}
	return v.principal(claims)
}

// bearer takes the token out of the Authorization header. The scheme is
// compared without regard to case, as HTTP asks.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	switch {
	case len(values) == 0:
		return "", &rondo.Error{
			Code:    CodeTokenMissing,
			Message: "the request has no Authorization header",
			Hint:    "send \"Authorization: Bearer <token>\"",
		}
	case len(values) > 1:
		return "", invalid("the request has several Authorization headers")
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &rondo.Error{
			Code:    CodeTokenMissing,
			Message: "the Authorization header does not use the Bearer scheme",
			Hint:    "send \"Authorization: Bearer <token>\"",
		}
	}
	token = strings.TrimLeft(token, " ")
	switch {
	case !found || token == "":
		return "", &rondo.Error{Code: CodeTokenMissing, Message: "the Authorization header holds no token", Hint: "send \"Authorization: Bearer <token>\""}
	case len(token) > maxToken:
		return "", invalid("it is larger than 8 KiB")
	}
	return token, nil
}

// header is what counts of a token's JOSE header. Every other member is
// ignored, above all those that name keys.
type header struct {
	Alg  string         `json:"alg"`
	Kid  string         `json:"kid"`
	Typ  string         `json:"typ"`
	Crit jsontext.Value `json:"crit"`
	B64  jsontext.Value `json:"b64"`
	Zip  jsontext.Value `json:"zip"`
}

// verify returns the payload of a token whose signature is right.
func (v *verifier) verify(ctx context.Context, token string) ([]byte, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, invalid("it does not have the three parts of a signed token")
	}
	for _, part := range parts {
		// Strict refuses non-zero trailing bits, newlines and padding: one token
		// has one spelling.
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return nil, invalid("a part of it is not base64url")
		}
	}
	raw, _ := base64.RawURLEncoding.DecodeString(parts[0])
	var h header
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, invalid("its header is not a JSON object with distinct, well-typed members")
	}
	switch {
	case h.Crit != nil || h.B64 != nil || h.Zip != nil:
		return nil, invalid("its header asks for an extension that is not supported")
	case !acceptedType(h.Typ):
		return nil, invalid("its header names another type of token")
	case !knownAlgorithm(h.Alg):
		return nil, invalid("its signature algorithm is not accepted")
	}
	keys, err := v.keys.find(ctx, h.Kid, h.Alg)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if payload, err := jws.VerifyCompactFast(key.public, []byte(token), key.algorithms[h.Alg]); err == nil {
			return payload, nil
		}
	}
	return nil, invalid("its signature does not verify")
}

func acceptedType(typ string) bool {
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "", "jwt", "at+jwt":
		return true
	}
	return false
}

func invalid(why string) *rondo.Error {
	return &rondo.Error{
		Code:    CodeTokenInvalid,
		Message: "the token is not accepted: " + why,
		Hint:    "get a new token from the issuer that this server trusts",
	}
}
