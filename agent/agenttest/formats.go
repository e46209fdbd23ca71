package agenttest

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rondo-engine/rondo/agent"
)

// awkward has what formats trip over: quotes, escapes, line ends, braces, a
// character of four bytes, and one that HTML would escape.
const awkward = "Hé said \"{}\" \\ $&\r\n\t<b> 😀 done"

// RunHTTP holds a driver to what it must do with a server's answers, good and bad.
// Its own tests beside it are for what only its format has.
func RunHTTP(t *testing.T, driver Driver) {
	t.Helper()
	tests := map[string]func(*testing.T, Driver){
		"streams are read however they are written":        testStyles,
		"streams are read however they arrive":             testDrips,
		"an answer need not be a stream":                   testJSON,
		"a stream that breaks off is an error":             testBroken,
		"a stream that just stops is whole or an error":    testClosed,
		"what is over a bound is an error":                 testBounds,
		"what is not the format is an error":               testMalformed,
		"a status that is no success is an error":          testStatuses,
		"a redirect is not followed":                       testRedirect,
		"a call is made once":                              testOnce,
		"an agent that is not there is an error":           testUnreachable,
		"errors tell no secrets even when the server does": testSecrets,
		"the deadline is the context's":                    testDeadline,
		"many users at once get each their own answer":     testOwnAnswers,
		"a reader that stops gives the connection up":      testGivesUp,
		"the request is one that the server understands":   testRequest,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, driver)
		})
	}
}

func testStyles(t *testing.T, d Driver) {
	for name, write := range styles {
		heard := d.answered(t, typeStream, strings.NewReader(write(d.Events(awkward))))
		wantText(t, name, heard, awkward)
	}
}

func testDrips(t *testing.T, d Driver) {
	whole := stream(d.Events(awkward))
	wantText(t, "byte by byte", d.answered(t, typeStream, iotest.OneByteReader(strings.NewReader(whole))), awkward)
	wantText(t, "with the end at once", d.answered(t, typeStream, iotest.DataErrReader(strings.NewReader(whole))), awkward)
}

func testJSON(t *testing.T, d Driver) {
	wantText(t, "JSON", d.answered(t, typeJSON, strings.NewReader(d.JSON(awkward))), awkward)
	cut := d.JSON(awkward)
	heard := d.answered(t, typeJSON, io.MultiReader(strings.NewReader(cut[:len(cut)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	wantKind(t, "JSON that breaks off", heard, agent.KindUnreachable)
	wantKind(t, "JSON that stops", d.answered(t, typeJSON, strings.NewReader(cut[:len(cut)-1])), agent.KindMalformed)
}

// testBroken cuts the connection after every byte.
func testBroken(t *testing.T, d Driver) {
	whole := stream(d.Events(awkward))
	for cut := range len(whole) {
		heard := d.answered(t, typeStream, io.MultiReader(strings.NewReader(whole[:cut]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		wantKind(t, "broken after "+strconv.Itoa(cut)+" bytes", heard, agent.KindUnreachable, agent.KindMalformed)
	}
}

// testClosed lets a stream end after every byte, as a server does that closes the
// connection to end its answer: the end may be no end.
func testClosed(t *testing.T, d Driver) {
	whole := stream(d.Events(awkward))
	for cut := range len(whole) {
		client := serve(func(*http.Request) (*http.Response, error) {
			response := respond(typeStream, strings.NewReader(whole[:cut]))
			response.TransferEncoding, response.Close = nil, true
			return response, nil
		})
		heard := Listen(t, d.New(t, "http://agent.test", client).Send(t.Context(), session(), userSays(UserText)))
		if heard.Err == nil {
			wantText(t, "stopped after "+strconv.Itoa(cut)+" bytes", heard, awkward)
		} else {
			wantKind(t, "stopped after "+strconv.Itoa(cut)+" bytes", heard, agent.KindUnreachable, agent.KindMalformed)
		}
	}
}

func testBounds(t *testing.T, d Driver) {
	// The servers never stop by themselves: a driver that reads on does not return.
	endless := func(text string) io.Reader { return &repeat{text: text} }
	pieces := stream([]Event{d.Piece()})
	for name, body := range map[string]io.Reader{
		"an event":           io.MultiReader(strings.NewReader("data: "), endless("x")),
		"an event of lines":  endless("data: x\n"),
		"events without end": endless(pieces),
		"one event too many": strings.NewReader(strings.Repeat(pieces, MaxEvents+1-len(d.Events("hello"))) + stream(d.Events("hello"))),
		"many comments":      endless(": keep alive\n\n"),
		"one message":        strings.NewReader(stream(d.Events(strings.Repeat("x", MaxEvent+1)))),
	} {
		wantKind(t, name, d.answered(t, typeStream, body), agent.KindTooLarge)
	}
	most := strings.Repeat(pieces, MaxEvents-len(d.Events("hello"))) + stream(d.Events("hello"))
	wantText(t, "as many events as are allowed", d.answered(t, typeStream, strings.NewReader(most)), "hello")
	wantKind(t, "JSON", d.answered(t, typeJSON, io.MultiReader(strings.NewReader(`{"a":"`), endless("x"))), agent.KindTooLarge)
	wantKind(t, "JSON of one message", d.answered(t, typeJSON, strings.NewReader(d.JSON(strings.Repeat("x", MaxEvent+1)))), agent.KindTooLarge)
}

// repeat is a body without end.
type repeat struct {
	text string
	at   int
}

// Read repeats the text.
func (r *repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

func testMalformed(t *testing.T, d Driver) {
	name := d.Piece().Name
	for what, body := range map[string]string{
		"an event that is no JSON":   stream([]Event{{name, "{" + UserText}}),
		"an event that is a list":    stream([]Event{{name, "[]"}}),
		"an event of the wrong type": stream([]Event{{name, `{"type":[],"choices":7}`}}),
		"nothing":                    "",
		"comments alone":             ": hello\n\n",
	} {
		wantKind(t, what, d.answered(t, typeStream, strings.NewReader(body)), agent.KindMalformed)
	}
	for what, body := range map[string]string{
		"no JSON": "<html>", "empty": "", "null": "null", "a list": "[]", "another object": "{}",
		"the wrong type": `{"activities":7,"choices":7}`, "two": d.JSON("a") + d.JSON("b"),
	} {
		wantKind(t, "JSON: "+what, d.answered(t, typeJSON, strings.NewReader(body)), agent.KindMalformed)
	}
	for _, contentType := range []string{"text/html", "", "text/plain; charset", "text/event-streams"} {
		heard := d.answered(t, contentType, strings.NewReader(stream(d.Events("hello"))))
		wantKind(t, "content type "+contentType, heard, agent.KindMalformed)
	}
}
