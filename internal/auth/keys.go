package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

const (
	maxKeySetBytes = 512 << 10
	maxKeySetKeys  = 100
	minRSABits     = 2048
	maxRSABits     = 8192 // verification time grows with the square
)

// publicKey is one published key and the algorithms it may verify.
type publicKey struct {
	kid        string
	public     any
	algorithms map[string]jwa.SignatureAlgorithm
}

// knownAlgorithm reports whether any key could verify under the algorithm.
// Names are compared exactly: "NONE" is as unknown as "none".
func knownAlgorithm(name string) bool {
	switch name {
	case "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA":
		return true
	}
	return false
}

// algorithmsFor is the allow-list by type of key.
func algorithmsFor(public any) []jwa.SignatureAlgorithm {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return nil
		}
		return []jwa.SignatureAlgorithm{jwa.RS256(), jwa.RS384(), jwa.RS512(), jwa.PS256(), jwa.PS384(), jwa.PS512()}
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return []jwa.SignatureAlgorithm{jwa.ES256()}
		case 384:
			return []jwa.SignatureAlgorithm{jwa.ES384()}
		case 521:
			return []jwa.SignatureAlgorithm{jwa.ES512()}
		}
	case ed25519.PublicKey:
		return []jwa.SignatureAlgorithm{jwa.EdDSA()}
	}
	return nil
}

// parseKeySet reads a JWKS document. Keys that cannot verify signatures here
// (symmetric, private, for encryption, of unknown type, too weak) are left out;
// a document that is not a key set is an error.
func parseKeySet(raw []byte) ([]publicKey, error) {
	var doc struct {
		Keys *[]jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Keys == nil {
		return nil, errors.New("the document is not a key set")
	}
	if len(*doc.Keys) > maxKeySetKeys {
		return nil, fmt.Errorf("the key set has more than %d keys", maxKeySetKeys)
	}
	var keys []publicKey
	for _, entry := range *doc.Keys {
		parsed, err := jwk.ParseKey(entry)
		if err != nil {
			continue
		}
		if key, ok := usable(parsed); ok {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func usable(key jwk.Key) (publicKey, bool) {
	if use, ok := key.KeyUsage(); ok && use != string(jwk.ForSignature) {
		return publicKey{}, false
	}
	if ops, ok := key.KeyOps(); ok && !slices.Contains(ops, jwk.KeyOpVerify) {
		return publicKey{}, false
	}
	public, err := exported(key)
	if err != nil {
		return publicKey{}, false
	}
	out := publicKey{public: public, algorithms: map[string]jwa.SignatureAlgorithm{}}
	out.kid, _ = key.KeyID()
	only, restricted := key.Algorithm()
	for _, alg := range algorithmsFor(public) {
		if !restricted || only.String() == alg.String() {
			out.algorithms[alg.String()] = alg
		}
	}
	return out, len(out.algorithms) > 0
}

// exported returns the crypto key; a private or symmetric one is refused,
// because whoever publishes it has lost it.
func exported(key jwk.Key) (any, error) {
	asymmetric, ok := key.(jwk.AsymmetricKey)
	if !ok || asymmetric.IsPrivate() {
		return nil, errors.New("not a public key")
	}
	var raw any
	if err := jwk.Export(key, &raw); err != nil {
		return nil, err
	}
	return raw, nil
}
