package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rondo-engine/rondo"
)

const (
	// staleFor is how long keys serve while the issuer cannot be reached.
	staleFor = 24 * time.Hour
	// refetchEvery bounds how often tokens with unknown keys make Rondo ask.
	refetchEvery = 30 * time.Second
	// retryEvery bounds how often Rondo asks while it has no keys at all.
	retryEvery = time.Second
)

// keyring keeps the published keys of the issuer. One caller at a time fetches,
// in its own goroutine; the others use what is there, or wait for it when that
// does not help them.
type keyring struct {
	cfg Config

	mu        sync.Mutex
	keys      []publicKey
	fetchedAt time.Time     // of the newest success; zero = never
	triedAt   time.Time     // of the newest attempt; zero = never
	failure   error         // of the newest attempt; nil = it succeeded
	fetching  chan struct{} // closed when the fetch under way ends; nil = none
}

func newKeyring(cfg Config) *keyring { return &keyring{cfg: cfg} }

// find returns the keys that may verify a token with this key id and
// algorithm. Unknown ids are refused, and so is everything while no keys that
// are young enough are there.
func (k *keyring) find(ctx context.Context, kid, alg string) ([]publicKey, error) {
	for {
		k.mu.Lock()
		now := k.cfg.Now()
		age := now.Sub(k.fetchedAt)
		usable := !k.fetchedAt.IsZero() && age <= staleFor
		var found []publicKey
		if usable {
			found = match(k.keys, kid, alg)
		}
		if len(found) > 0 && age < k.cfg.RefreshEvery {
			k.mu.Unlock()
			return found, nil
		}
		if wait := k.fetching; wait != nil {
			k.mu.Unlock()
			if len(found) > 0 {
				return found, nil
			}
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, unavailable(ctx.Err())
			}
		}
		pause := refetchEvery
		if !usable {
			pause = retryEvery
		}
		if !k.triedAt.IsZero() && now.Sub(k.triedAt) < pause {
			failure := k.failure
			k.mu.Unlock()
			switch {
			case len(found) > 0:
				return found, nil
			case !usable:
				return nil, unavailable(failure)
			}
			return nil, invalid("no key of the issuer fits its header")
		}
		done := make(chan struct{})
		k.fetching = done
		k.mu.Unlock()
		k.refresh(ctx, now, done)
	}
}

// refresh replaces the keys when the fetch succeeds and leaves them when not.
// A caller who goes away does not stop it: others may be waiting.
func (k *keyring) refresh(ctx context.Context, now time.Time, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.keys, k.fetchedAt = keys, now
	}
	// The pause counts from the end of the attempt: one that ran into its timeout
	// must not be due again at once.
	k.failure, k.triedAt = err, k.cfg.Now()
	k.fetching = nil
	close(done)
}

// match picks the keys with the id; a token without an id can only mean the
// one key that there is.
func match(keys []publicKey, kid, alg string) []publicKey {
	var found []publicKey
	for _, key := range keys {
		if _, fits := key.algorithms[alg]; fits && (kid != "" && key.kid == kid || kid == "" && len(keys) == 1) {
			found = append(found, key)
		}
	}
	return found
}

func (k *keyring) fetch(ctx context.Context) ([]publicKey, error) {
	from := k.cfg.JWKSURL
	if from == "" {
		var err error
		if from, err = k.discover(ctx); err != nil {
			return nil, err
		}
	}
	raw, err := k.get(ctx, from)
	if err != nil {
		return nil, err
	}
	return parseKeySet(raw)
}

// discover asks the issuer where its keys are.
func (k *keyring) discover(ctx context.Context) (string, error) {
	raw, err := k.get(ctx, strings.TrimSuffix(k.cfg.Issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	var doc struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return "", errors.New("the issuer's configuration is not readable")
	}
	if doc.Issuer != k.cfg.Issuer || !webURL(doc.JWKSURI) {
		return "", errors.New("the issuer's configuration names another issuer or no keys")
	}
	return doc.JWKSURI, nil
}

func (k *keyring) get(ctx context.Context, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := k.cfg.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answered %d", res.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxKeySetBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxKeySetBytes {
		return nil, errors.New("the issuer's answer is too large")
	}
	return raw, nil
}

func unavailable(cause error) *rondo.Error {
	return &rondo.Error{
		Code:    rondo.CodeUnavailable,
		Op:      "fetch the issuer's keys",
		Message: "tokens cannot be checked right now",
		Hint:    "try again in a moment; if it stays, the operator should check the issuer's key URL",
		Err:     cause,
	}
}
