package wire

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo/agent"
)

const (
	maxErrorBody  = 64 << 10
	maxRetryAfter = time.Hour
)

func (c *Client) fail(kind agent.ErrorKind, message string, cause error) *agent.Error {
	return &agent.Error{Provider: c.provider, Kind: kind, Message: message, Err: cause}
}

// Malformed says that an answer is not the format. It takes no cause: errors of
// decoders repeat what they read.
func (c *Client) Malformed(message string) error { return c.fail(agent.KindMalformed, message, nil) }

// TooLarge says that an answer is over a bound.
func (c *Client) TooLarge(message string) error { return c.fail(agent.KindTooLarge, message, nil) }

// Refused says that the agent answered with an error inside of its answer.
func (c *Client) Refused(message string) error { return c.fail(agent.KindRefused, message, nil) }

// broken is a connection that failed, or the context's own error.
func (c *Client) broken(ctx context.Context, err error) error {
	if over := deadline(ctx); over != nil {
		return over
	}
	return c.fail(agent.KindUnreachable, "the connection to the agent failed", harmless(err))
}

// harmless keeps of a connection's error what names addresses and reasons; others
// may quote what was sent or received.
func harmless(err error) error {
	if certificate, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return certificate
	}
	if certificate, ok := errors.AsType[x509.HostnameError](err); ok {
		return certificate
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed
	}
	for _, plain := range []error{io.ErrUnexpectedEOF, io.EOF, errSent} {
		if errors.Is(err, plain) {
			return plain
		}
	}
	return nil
}

// refused is an answer with a status that is not a success.
func (c *Client) refused(ctx context.Context, response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if over := deadline(ctx); err != nil && over != nil {
		return over
	}
	message := "it answered with status " + strconv.Itoa(response.StatusCode)
	if word := ErrorWord(body); word != "" {
		message += " (" + word + ")"
	}
	refused := c.fail(agent.KindRefused, message, nil)
	refused.Status = response.StatusCode
	refused.RetryAfter = retryAfter(response.Header)
	return refused
}

// ErrorWord finds the error's code in a JSON body: a word of letters, such as
// rate_limit_exceeded. Anything else could repeat what must not be repeated.
func ErrorWord(body []byte) string {
	var flat struct {
		Error json.RawMessage `json:"error"`
		Code  json.RawMessage `json:"code"`
	}
	if json.Unmarshal(body, &flat) != nil {
		return ""
	}
	var nested struct {
		Code json.RawMessage `json:"code"`
		Type json.RawMessage `json:"type"`
	}
	// An error that is a string has no members.
	_ = json.Unmarshal(flat.Error, &nested)
	for _, candidate := range []json.RawMessage{nested.Code, nested.Type, flat.Error, flat.Code} {
		if word := plainWord(candidate); word != "" {
			return word
		}
	}
	return ""
}

func plainWord(raw json.RawMessage) string {
	const longest = 40
	var word string
	if json.Unmarshal(raw, &word) != nil || len(word) > longest {
		return ""
	}
	odd := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
	if strings.ContainsFunc(word, odd) {
		return ""
	}
	return word
}

// retryAfter reads seconds, or a date seen from the answer's own.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		// Bounded before it is multiplied: a large one would turn negative.
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		from = time.Now()
	}
	return min(max(until.Sub(from), 0), maxRetryAfter)
}
