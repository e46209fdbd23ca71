package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/store"
)

// Answers remembers what callers were told under an idempotency key.
type Answers interface {
	ReserveAnswer(ctx context.Context, reserved rondo.Answer) (stored rondo.Answer, fresh bool, err error)
	KeepAnswer(ctx context.Context, answer rondo.Answer) error
	DropAnswer(ctx context.Context, org, key string) error
}

const (
	keyHeader      = "Idempotency-Key"
	olderKeyHeader = "X-Idempotency-Key" // older clients say it so
	replayedHeader = "Idempotent-Replayed"
	cacheHitHeader = "X-Idempotency-Cache-Hit" // older clients read it so
	maxKey         = 255
	maxKept        = 4 << 20 // bytes of an answer that is kept
	keepWithin     = 5 * time.Second
)

// keptHeaders belong to an answer and are kept with it.
var keptHeaders = []string{"Content-Type", "ETag", "Location"}

// once answers a POST that carries an idempotency key: the first time by the
// handler, every later time with the same answer, without doing anything. A key
// is reserved before the handler runs, so of two requests at once one is told to
// wait, and after a crash in between nobody does the work a second time: the
// caller is told to look.
func (a *API) once(w http.ResponseWriter, r *http.Request, x *exchange, next http.HandlerFunc) {
	key, err := readKey(r.Header)
	if err != nil {
		a.refuse(w, x, err)
		return
	}
	mine := rondo.Answer{OrgID: x.call.principal.Tenant, Key: scoped(key, r, x), Request: fingerprint(r, x), CreatedAt: a.cfg.Now().UTC().Truncate(time.Microsecond)}
	stored, fresh, err := a.cfg.Answers.ReserveAnswer(r.Context(), mine)
	switch {
	case err != nil:
		a.refuse(w, x, err)
	case fresh:
		kept := &keeper{ResponseWriter: w}
		next(kept, r)
		x.keyFailure = a.settle(r, x, mine, kept)
	case stored.Request != mine.Request:
		a.refuse(w, x, &rondo.Error{Code: rondo.CodeKeyReused, Message: "this " + keyHeader + " was used for another request", Hint: "use a new key for every request; repeat a request with exactly the same body"})
	case stored.Status == 0:
		a.refuse(w, x, &rondo.Error{Code: rondo.CodeConflict, Message: "the request with this " + keyHeader + " is being answered, or was cut off before it was", Hint: "wait and repeat it; if that does not end, read the resource to see what was done and use a new key"})
	default:
		replay(w, stored)
	}
}

// hasKey reports whether a request carries an idempotency key, good or bad.
func hasKey(h http.Header) bool { return h.Values(keyHeader) != nil || h.Values(olderKeyHeader) != nil }

// readKey takes the idempotency key from either header; both may say the same. No
// key is "".
func readKey(h http.Header) (string, error) {
	found := ""
	for _, name := range []string{keyHeader, olderKeyHeader} {
		for _, key := range h.Values(name) {
			if key == "" || len(key) > maxKey || strings.Trim(key, printable) != "" {
				return "", &rondo.Error{Code: rondo.CodeInvalid, Message: name + " must be 1 to 255 printable ASCII characters", Hint: "use a UUID"}
			}
			if found != "" && found != key {
				return "", &rondo.Error{Code: rondo.CodeInvalid, Message: "the request has two idempotency keys", Hint: "send one of " + keyHeader + " and " + olderKeyHeader}
			}
			found = key
		}
	}
	return found, nil
}

// printable is what a key may be made of.
const printable = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// scoped is a key as it is stored: two users, or two routes, never share one.
func scoped(key string, r *http.Request, x *exchange) string {
	return digest(x.call.principal.User, r.Method, r.URL.Path, r.URL.RawQuery, key)
}

// fingerprint names what was asked for. Bodies that say the same are the same.
func fingerprint(r *http.Request, x *exchange) string {
	body := x.call.body
	if canonical, err := canon.JSON(body); err == nil {
		body = canonical
	}
	return digest(r.Header.Get("If-Match"), string(body))
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// settle keeps the answer of what was done, or gives the key back when nothing was.
// An answer that leaves open whether something was done keeps the key reserved.
func (a *API) settle(r *http.Request, x *exchange, mine rondo.Answer, kept *keeper) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keepWithin)
	defer cancel()
	switch {
	case kept.status >= 300 && kept.status < 500, kept.status == http.StatusServiceUnavailable && !doubtful(x.failure):
		return a.cfg.Answers.DropAnswer(ctx, mine.OrgID, mine.Key)
	case kept.status >= http.StatusInternalServerError || kept.overflow:
		return nil
	}
	header := map[string]string{}
	for _, name := range keptHeaders {
		if value := kept.Header().Get(name); value != "" {
			header[name] = value
		}
	}
	raw, err := json.Marshal(header)
	if err != nil {
		return err
	}
	mine.Status, mine.Header, mine.Body = kept.status, raw, kept.body.Bytes()
	return a.cfg.Answers.KeepAnswer(ctx, mine)
}

// doubtful reports whether the work may have been done in spite of the error.
func doubtful(err error) bool {
	return errors.Is(err, store.ErrAmbiguous) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func replay(w http.ResponseWriter, stored rondo.Answer) {
	var header map[string]string
	if json.Unmarshal(stored.Header, &header) == nil {
		for name, value := range header {
			w.Header().Set(name, value)
		}
	}
	markReplayed(w.Header(), true)
	w.WriteHeader(stored.Status)
	_, _ = w.Write(stored.Body) // a client that is gone asks again
}

// markReplayed says of an answer that it was given before, if it was.
func markReplayed(h http.Header, replayed bool) {
	if replayed {
		h.Set(replayedHeader, "true")
		h.Set(cacheHitHeader, "true")
	}
}

// keeper writes an answer through and keeps a copy of it.
type keeper struct {
	http.ResponseWriter
	status   int
	body     bytes.Buffer
	overflow bool
}

func (k *keeper) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
	k.ResponseWriter.WriteHeader(status)
}

func (k *keeper) Write(b []byte) (int, error) {
	if k.status == 0 {
		k.status = http.StatusOK
	}
	if k.body.Len()+len(b) > maxKept {
		k.overflow = true
	} else {
		k.body.Write(b)
	}
	return k.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
