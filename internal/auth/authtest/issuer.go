// Package authtest is an issuer of tokens for tests: a real HTTP server that
// publishes real keys, honest tokens, and a collection of forged ones.
//
// It is imported by tests only.
package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/internal/auth"
)

// Audience is the audience of honest tokens.
const Audience = "rondo-api"

// Issuer publishes three keys: RSA (kid "rsa"), P-256 (kid "ec") and Ed25519
// (kid "ed"). Its clock stands still until it is moved.
type Issuer struct {
	URL string

	RSA *rsa.PrivateKey
	EC  *ecdsa.PrivateKey
	Ed  ed25519.PrivateKey

	mu    sync.Mutex
	now   time.Time
	extra []map[string]any
	body  func() (int, string) // replaces the key set; nil = serve the keys
	hits  int
}

// NewIssuer starts an issuer that lives as long as the test.
func NewIssuer(tb testing.TB) *Issuer {
	tb.Helper()
	is := &Issuer{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	if is.RSA, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		tb.Fatalf("make an RSA key: %v", err)
	}
	if is.EC, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		tb.Fatalf("make an EC key: %v", err)
	}
	if _, is.Ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		tb.Fatalf("make an Ed25519 key: %v", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /keys", is.serveKeys)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": is.URL, "jwks_uri": is.URL + "/keys"})
	})
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	is.URL = server.URL
	return is
}

// Config trusts this issuer and lets the tenants in.
func (is *Issuer) Config(tenants ...string) auth.Config {
	return auth.Config{
		Issuer:   is.URL,
		Audience: []string{Audience},
		JWKSURL:  is.URL + "/keys",
		Tenants:  tenants,
		Now:      is.Now,
	}
}

// Now is the issuer's clock.
func (is *Issuer) Now() time.Time {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.now
}

// Advance moves the clock.
func (is *Issuer) Advance(d time.Duration) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.now = is.now.Add(d)
}

// Fetches tells how often the keys were asked for.
func (is *Issuer) Fetches() int {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.hits
}

// AnswerKeysWith replaces the answer to key requests; nil serves the keys again.
func (is *Issuer) AnswerKeysWith(body func() (status int, body string)) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.body = body
}

// Publish adds a raw entry to the key set.
func (is *Issuer) Publish(entry map[string]any) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.extra = append(is.extra, entry)
}

// Claims are the claims of a token. A nil value removes the claim.
type Claims map[string]any

// Token is an honest token of tenant and user with the scopes, changed as asked.
func (is *Issuer) Token(tenant, user string, scopes []string, change ...Claims) string {
	return is.SignRSA(is.claims(tenant, user, scopes, change...))
}

// SignRSA signs a payload as the issuer does.
func (is *Issuer) SignRSA(payload string) string {
	return RS256(is.RSA, `{"alg":"RS256","typ":"JWT","kid":"rsa"}`, payload)
}

func (is *Issuer) claims(tenant, user string, scopes []string, change ...Claims) string {
	now := is.Now()
	all := Claims{
		"iss": is.URL, "aud": Audience, "exp": now.Add(time.Hour).Unix(), "nbf": now.Add(-time.Minute).Unix(), "iat": now.Unix(),
		"org_id": tenant, "sub": user, "scope": strings.Join(scopes, " "),
	}
	for _, c := range change {
		maps.Copy(all, c)
	}
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	raw, err := json.Marshal(all)
	if err != nil {
		panic(fmt.Sprintf("authtest: claims do not encode: %v", err))
	}
	return string(raw)
}

func (is *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	is.mu.Lock()
	is.hits++
	answer, extra := is.body, is.extra
	is.mu.Unlock()
	if answer != nil {
		status, body := answer()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return
	}
	keys := []map[string]any{
		RSAEntry("rsa", &is.RSA.PublicKey),
		ECEntry("ec", &is.EC.PublicKey),
		{"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(is.Ed.Public().(ed25519.PublicKey))},
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": append(keys, extra...)})
}

// RSAEntry is the key set entry of an RSA key.
func RSAEntry(kid string, key *rsa.PublicKey) map[string]any {
	return map[string]any{
		"kty": "RSA", "kid": kid, "use": "sig",
		"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
	}
}

// ECEntry is the key set entry of an elliptic curve key.
func ECEntry(kid string, key *ecdsa.PublicKey) map[string]any {
	raw, err := key.Bytes()
	if err != nil {
		panic(fmt.Sprintf("authtest: the key does not encode: %v", err))
	}
	size := (len(raw) - 1) / 2
	return map[string]any{
		"kty": "EC", "crv": key.Params().Name, "kid": kid,
		"x": encode(raw[1 : 1+size]), "y": encode(raw[1+size:]),
	}
}

// RS256 signs header and payload, whatever they say.
func RS256(key *rsa.PrivateKey, header, payload string) string {
	input := join(header, payload)
	sum := sha256.Sum256([]byte(input))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	return finish(input, signature, err)
}

// PS256 signs with RSA-PSS.
func PS256(key *rsa.PrivateKey, header, payload string) string {
	input := join(header, payload)
	sum := sha256.Sum256([]byte(input))
	signature, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	return finish(input, signature, err)
}

// ES256 signs with SHA-256 on whatever curve the key is.
func ES256(key *ecdsa.PrivateKey, header, payload string) string {
	input := join(header, payload)
	sum := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return finish(input, nil, err)
	}
	size := (key.Params().BitSize + 7) / 8
	return finish(input, append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), nil)
}

// EdDSA signs with Ed25519.
func EdDSA(key ed25519.PrivateKey, header, payload string) string {
	input := join(header, payload)
	return finish(input, ed25519.Sign(key, []byte(input)), nil)
}

// HS256 signs with a shared secret.
func HS256(secret []byte, header, payload string) string {
	input := join(header, payload)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return finish(input, mac.Sum(nil), nil)
}

func join(header, payload string) string {
	return encode([]byte(header)) + "." + encode([]byte(payload))
}

func finish(input string, signature []byte, err error) string {
	if err != nil {
		panic(fmt.Sprintf("authtest: cannot sign: %v", err))
	}
	return input + "." + encode(signature)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
