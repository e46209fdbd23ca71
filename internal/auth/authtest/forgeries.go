package authtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
)

// Forgery is a request that must be refused.
type Forgery struct {
	Name   string
	Header http.Header
	Code   rondo.Code
}

// Forgeries returns requests that pretend to be user of tenant with every scope;
// each must be refused with its code. The issuer must let tenant in.
func Forgeries(tb testing.TB, is *Issuer, tenant, user string) []Forgery {
	tb.Helper()
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatalf("make a stranger's key: %v", err)
	}
	f := &forger{is: is, stranger: stranger, tenant: tenant, user: user, good: is.claims(tenant, user, auth.AllScopes())}
	f.carriers()
	f.algorithms()
	f.keyIDs()
	f.embeddedKeys()
	f.headers()
	f.tampering()
	f.claims()
	f.encodings()
	return f.out
}

type forger struct {
	is           *Issuer
	stranger     *rsa.PrivateKey
	tenant, user string
	good         string // an honest payload
	out          []Forgery
}

const honestHeader = `{"alg":"RS256","typ":"JWT","kid":"rsa"}`

func (f *forger) add(name string, code rondo.Code, authorization ...string) {
	f.out = append(f.out, Forgery{Name: name, Code: code, Header: http.Header{"Authorization": authorization}})
}

// token adds a token in an ordinary Bearer header that must be invalid.
func (f *forger) token(name, token string) { f.add(name, auth.CodeTokenInvalid, "Bearer "+token) }

// carriers are ways to send something that is no bearer token.
func (f *forger) carriers() {
	honest := f.is.SignRSA(f.good)
	f.out = append(f.out, Forgery{Name: "no Authorization header", Code: auth.CodeTokenMissing, Header: http.Header{}})
	f.add("empty Authorization header", auth.CodeTokenMissing, "")
	f.add("scheme without token", auth.CodeTokenMissing, "Bearer")
	f.add("scheme and a space", auth.CodeTokenMissing, "Bearer ")
	f.add("Basic scheme", auth.CodeTokenMissing, "Basic "+honest)
	f.add("no scheme", auth.CodeTokenMissing, honest)
	f.add("Bearer with a colon", auth.CodeTokenMissing, "Bearer: "+honest)
	f.add("Bearer and a tab", auth.CodeTokenMissing, "Bearer\t"+honest)
	f.add("two headers", auth.CodeTokenInvalid, "Bearer "+honest, "Bearer "+honest)
	f.add("two headers, the second not a token", auth.CodeTokenInvalid, "Bearer "+honest, "")
	f.add("two tokens in one header", auth.CodeTokenInvalid, "Bearer "+honest+" "+honest)
	f.add("two tokens and a comma", auth.CodeTokenInvalid, "Bearer "+honest+", Bearer "+honest)
	f.out = append(f.out,
		Forgery{Name: "token in a cookie", Code: auth.CodeTokenMissing, Header: http.Header{"Cookie": {"access_token=" + honest}}},
		Forgery{Name: "token in another header", Code: auth.CodeTokenMissing, Header: http.Header{"X-Access-Token": {honest}, "Proxy-Authorization": {"Bearer " + honest}}},
	)
}

func (f *forger) algorithms() {
	for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
		header := `{"alg":"` + alg + `","typ":"JWT","kid":"rsa"}`
		f.token("alg "+alg+" without signature", join(header, f.good)+".")
		f.token("alg "+alg+" with an honest signature", RS256(f.is.RSA, header, f.good))
	}
	der, _ := x509.MarshalPKIXPublicKey(&f.is.RSA.PublicKey)
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	hs := `{"alg":"HS256","typ":"JWT","kid":"rsa"}`
	f.token("HS256 with the public key as DER", HS256(der, hs, f.good))
	f.token("HS256 with the public key as PEM", HS256(block, hs, f.good))
	f.token("HS256 with the modulus", HS256(f.is.RSA.N.Bytes(), hs, f.good))
	f.token("HS256 with an empty secret", HS256(nil, hs, f.good))
	f.token("an HMAC called RS256", HS256(block, honestHeader, f.good))
	f.token("RS256 called HS256", RS256(f.is.RSA, hs, f.good))
	f.token("RS256 called PS256", RS256(f.is.RSA, `{"alg":"PS256","kid":"rsa"}`, f.good))
	f.token("PS256 called RS256", PS256(f.is.RSA, honestHeader, f.good))
	f.token("RS256 called ES256 on the EC key", RS256(f.is.RSA, `{"alg":"ES256","kid":"ec"}`, f.good))
	f.token("ES256 on the RSA key", ES256(f.is.EC, `{"alg":"ES256","kid":"rsa"}`, f.good))
	f.token("RS256 in lower case", RS256(f.is.RSA, `{"alg":"rs256","kid":"rsa"}`, f.good))
	f.token("no alg", RS256(f.is.RSA, `{"typ":"JWT","kid":"rsa"}`, f.good))
	f.token("alg not a string", RS256(f.is.RSA, `{"alg":["RS256"],"kid":"rsa"}`, f.good))
	f.token("alg given twice", RS256(f.is.RSA, `{"alg":"none","alg":"RS256","kid":"rsa"}`, f.good))
	f.token("Alg in odd case", RS256(f.is.RSA, `{"Alg":"RS256","kid":"rsa"}`, f.good))
}

func (f *forger) keyIDs() {
	sign := func(kid string) string {
		return RS256(f.stranger, `{"alg":"RS256","kid":"`+kid+`"}`, f.good)
	}
	f.token("a stranger's key under a known id", sign("rsa"))
	f.token("a stranger's key under an unknown id", sign("stranger"))
	f.token("a stranger's key under the EC key's id", sign("ec"))
	f.token("an id in another case", RS256(f.is.RSA, `{"alg":"RS256","kid":"RSA"}`, f.good))
	f.token("an id that is a path", sign("../../../../dev/null"))
	f.token("an id that is SQL", sign("' OR '1'='1"))
	f.token("an empty id with several keys published", RS256(f.is.RSA, `{"alg":"RS256","kid":""}`, f.good))
	f.token("no id with several keys published", RS256(f.is.RSA, `{"alg":"RS256"}`, f.good))
	f.token("an id that is a number", RS256(f.is.RSA, `{"alg":"RS256","kid":1}`, f.good))
}

func (f *forger) embeddedKeys() {
	entry, _ := json.Marshal(RSAEntry("evil", &f.stranger.PublicKey))
	named, _ := json.Marshal(RSAEntry("rsa", &f.stranger.PublicKey))
	f.token("embedded jwk", RS256(f.stranger, `{"alg":"RS256","kid":"evil","jwk":`+string(entry)+`}`, f.good))
	f.token("embedded jwk under a known id", RS256(f.stranger, `{"alg":"RS256","kid":"rsa","jwk":`+string(named)+`}`, f.good))
	f.token("embedded jwk without id", RS256(f.stranger, `{"alg":"RS256","jwk":`+string(entry)+`}`, f.good))
	f.token("jku", RS256(f.stranger, `{"alg":"RS256","kid":"evil","jku":"`+f.is.URL+`/keys"}`, f.good))
	f.token("x5u", RS256(f.stranger, `{"alg":"RS256","kid":"evil","x5u":"`+f.is.URL+`/keys"}`, f.good))
	der, _ := x509.MarshalPKIXPublicKey(&f.stranger.PublicKey)
	f.token("x5c", RS256(f.stranger, `{"alg":"RS256","kid":"rsa","x5c":["`+base64.StdEncoding.EncodeToString(der)+`"]}`, f.good))
}

func (f *forger) headers() {
	for name, header := range map[string]string{
		"crit":                        `{"alg":"RS256","kid":"rsa","crit":["exp"]}`,
		"crit null":                   `{"alg":"RS256","kid":"rsa","crit":null}`,
		"b64 false":                   `{"alg":"RS256","kid":"rsa","b64":false}`,
		"zip":                         `{"alg":"RS256","kid":"rsa","zip":"DEF"}`,
		"the type of a logout token":  `{"alg":"RS256","kid":"rsa","typ":"logout+jwt"}`,
		"the type of an encrypted":    `{"alg":"RS256","kid":"rsa","typ":"JWE"}`,
		"a header that is a list":     `["RS256"]`,
		"a header that is null":       `null`,
		"a header with trailing data": `{"alg":"RS256","kid":"rsa"}{}`,
		"an empty header":             ``,
		"a header that is not JSON":   `{"alg":`,
		"a header with invalid UTF-8": "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"x\":\"\xff\"}",
	} {
		f.token(name, RS256(f.is.RSA, header, f.good))
	}
}

func (f *forger) tampering() {
	honest := f.is.SignRSA(f.good)
	parts := strings.Split(honest, ".")
	admin := encode([]byte(strings.Replace(f.good, f.user, "root", 1)))
	f.token("payload replaced", parts[0]+"."+admin+"."+parts[2])
	f.token("header replaced", encode([]byte(`{"alg":"RS256","kid":"rsa"}`))+"."+parts[1]+"."+parts[2])
	f.token("signature flipped", parts[0]+"."+parts[1]+"."+flip(parts[2]))
	f.token("signature cut", honest[:len(honest)-8])
	f.token("signature removed", parts[0]+"."+parts[1]+".")
	f.token("signature of another token", parts[0]+"."+parts[1]+"."+strings.Split(f.is.Token(f.tenant, "other", nil), ".")[2])
	f.token("two parts", parts[0]+"."+parts[1])
	f.token("four parts", honest+"."+parts[2])
	f.token("five parts, as an encrypted token", honest+".e30.e30")
	f.token("only dots", "..")
	f.token("not a token", "hunter2")
	f.token("JSON serialisation", `{"payload":"`+parts[1]+`","signatures":[{"protected":"`+parts[0]+`","signature":"`+parts[2]+`"}]}`)
	f.token("oversized", honest+strings.Repeat("A", 9<<10))
	f.token("oversized but honest", f.is.Token(f.tenant, f.user, nil, Claims{"padding": strings.Repeat("A", 9<<10)}))
}

func (f *forger) claims() {
	now := f.is.Now()
	claim := func(name string, code rondo.Code, change Claims) {
		f.add(name, code, "Bearer "+f.is.Token(f.tenant, f.user, auth.AllScopes(), change))
	}
	claim("expired an hour ago", auth.CodeTokenExpired, Claims{"exp": now.Add(-time.Hour).Unix()})
	claim("expired one skew ago", auth.CodeTokenExpired, Claims{"exp": now.Add(-60 * time.Second).Unix()})
	claim("exp zero", auth.CodeTokenExpired, Claims{"exp": 0})
	claim("exp missing", auth.CodeTokenInvalid, Claims{"exp": nil})
	claim("exp a string", auth.CodeTokenInvalid, Claims{"exp": "2099-01-01T00:00:00Z"})
	claim("exp negative", auth.CodeTokenInvalid, Claims{"exp": -1})
	claim("exp beyond any calendar", auth.CodeTokenInvalid, Claims{"exp": 1e300})
	claim("nbf in an hour", auth.CodeTokenInvalid, Claims{"nbf": now.Add(time.Hour).Unix()})
	claim("nbf just beyond the skew", auth.CodeTokenInvalid, Claims{"nbf": now.Add(61 * time.Second).Unix()})
	claim("nbf a string", auth.CodeTokenInvalid, Claims{"nbf": "now"})
	claim("iss of another", auth.CodeIssuerMismatch, Claims{"iss": "https://evil.example"})
	claim("iss with a slash more", auth.CodeIssuerMismatch, Claims{"iss": f.is.URL + "/"})
	claim("iss that begins alike", auth.CodeIssuerMismatch, Claims{"iss": f.is.URL + ".evil.example"})
	claim("iss missing", auth.CodeIssuerMismatch, Claims{"iss": nil})
	claim("iss a list", auth.CodeIssuerMismatch, Claims{"iss": []string{f.is.URL}})
	claim("aud of another", auth.CodeAudienceMismatch, Claims{"aud": "other-api"})
	claim("aud missing", auth.CodeAudienceMismatch, Claims{"aud": nil})
	claim("aud empty list", auth.CodeAudienceMismatch, Claims{"aud": []string{}})
	claim("aud in another case", auth.CodeAudienceMismatch, Claims{"aud": strings.ToUpper(Audience)})
	claim("aud as one of several words", auth.CodeAudienceMismatch, Claims{"aud": Audience + " other"})
	claim("aud an object", auth.CodeAudienceMismatch, Claims{"aud": map[string]string{"a": Audience}})
	claim("aud a list with a number", auth.CodeAudienceMismatch, Claims{"aud": []any{Audience, 1}})
	claim("tenant missing", auth.CodeTokenInvalid, Claims{"org_id": nil})
	claim("tenant empty", auth.CodeTokenInvalid, Claims{"org_id": ""})
	claim("tenant a list", auth.CodeTokenInvalid, Claims{"org_id": []string{f.tenant}})
	claim("tenant too long", auth.CodeTokenInvalid, Claims{"org_id": strings.Repeat("t", 129)})
	claim("tenant with a control character", auth.CodeTokenInvalid, Claims{"org_id": f.tenant + "\n"})
	claim("tenant not allowed", auth.CodeTenantNotAllowed, Claims{"org_id": "someone-else"})
	claim("tenant in another case", auth.CodeTenantNotAllowed, Claims{"org_id": strings.ToUpper(f.tenant)})
	claim("tenant that begins alike", auth.CodeTenantNotAllowed, Claims{"org_id": f.tenant + "-2"})
	claim("first tenant claim wins", auth.CodeTenantNotAllowed, Claims{"org_id": "someone-else", "tid": f.tenant})
	claim("user missing", auth.CodeTokenInvalid, Claims{"sub": nil})
	claim("user a number", auth.CodeTokenInvalid, Claims{"sub": 7})
	claim("user with NUL", auth.CodeTokenInvalid, Claims{"sub": "a\x00b"})
	claim("scope an object", auth.CodeTokenInvalid, Claims{"scope": map[string]bool{rondo.ScopeAdmin: true}})
	claim("scope a list with a number", auth.CodeTokenInvalid, Claims{"scope": nil, "scp": []any{rondo.ScopeRead, 1}})
	f.token("a claim given twice", f.is.SignRSA(strings.Replace(f.good, `{`, `{"org_id":"someone-else",`, 1)))
	f.token("claims that are a list", f.is.SignRSA(`[]`))
	f.token("claims that are null", f.is.SignRSA(`null`))
	f.token("claims that are empty", f.is.SignRSA(``))
	f.token("claims with trailing data", f.is.SignRSA(f.good+`{}`))
}

func (f *forger) encodings() {
	honest := f.is.SignRSA(f.good)
	parts := strings.Split(honest, ".")
	f.token("padded base64", parts[0]+"."+parts[1]+"."+parts[2]+"==")
	f.token("a space inside", parts[0]+"."+parts[1][:10]+" "+parts[1][10:]+"."+parts[2])
	f.token("percent encoding", strings.ReplaceAll(honest, ".", "%2E"))
	f.token("a letter beyond ASCII", parts[0]+"."+parts[1]+"é."+parts[2])
}

// flip changes the first character of a base64url string to another valid one.
func flip(s string) string {
	if s[0] == 'A' {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}
