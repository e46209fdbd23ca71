package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
)

// contentPolicy is for bytes that anybody may have made: should a browser show
// them in spite of Content-Disposition, they can run nothing, load nothing and see
// nothing of this origin.
const contentPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

// isContent reports whether a path is that of the bytes of an artifact.
func isContent(path string) bool {
	return strings.HasSuffix(path, "/content") && (strings.HasPrefix(path, "/artifacts/") || strings.HasPrefix(path, "/runs/"))
}

func (a *API) registerRunContent(r *registrar) {
	for id, find := range map[string]func(ctx context.Context, service RunService, c *call) (io.ReadCloser, rondo.Artifact, error){
		"get-artifact-content":     ownArtifact,
		"get-run-artifact-content": artifactOfRun,
	} {
		r.plain(id, "application/octet-stream", func(w http.ResponseWriter, req *http.Request) {
			x := exchangeOf(req.Context())
			service, err := a.runService()
			if err == nil {
				err = sendArtifact(w, req, func() (io.ReadCloser, rondo.Artifact, error) { return find(req.Context(), service, &x.call) })
			}
			if err != nil {
				a.refuse(w, x, err)
			}
		})
		if row, ok := r.row(id); ok {
			op := r.described(row)
			op.Responses[statusText(http.StatusPartialContent)] = described("The range that was asked for")
			op.Responses[statusText(http.StatusNotModified)] = described("If-None-Match names the content")
			op.Description += " The media type is the artifact's, the ETag its content hash. One range of bytes can be asked for."
		}
	}
}

func described(text string) *huma.Response { return &huma.Response{Description: text} }

func ownArtifact(ctx context.Context, service RunService, c *call) (io.ReadCloser, rondo.Artifact, error) {
	return service.OpenArtifact(ctx, c.principal, c.id)
}

// artifactOfRun opens an artifact that a step of the run has attached.
func artifactOfRun(ctx context.Context, service RunService, c *call) (io.ReadCloser, rondo.Artifact, error) {
	attached, err := service.RunArtifacts(ctx, c.principal, c.id, "")
	if err != nil {
		return nil, rondo.Artifact{}, err
	}
	if !slices.ContainsFunc(attached, func(artifact rondo.Artifact) bool { return artifact.ID == c.run.artifact }) {
		return nil, rondo.Artifact{}, rondo.NotFound(nounArtifact)
	}
	return service.OpenArtifact(ctx, c.principal, c.run.artifact)
}

// sendArtifact answers with the bytes of an artifact. Its error is of a request
// to which nothing was answered yet; what fails later cuts the connection, so that
// nobody takes part of the bytes, or wrong ones, for all of them.
func sendArtifact(w http.ResponseWriter, r *http.Request, open func() (io.ReadCloser, rondo.Artifact, error)) error {
	content, artifact, err := open()
	if err != nil {
		if rondo.CodeOf(err) == rondo.CodeNotFound && !artifact.ID.IsZero() { // it is the caller's, its bytes are elsewhere or gone
			told := said(err)
			return &rondo.Error{Code: rondo.CodeWrongState, Message: told.Message, Hint: told.Hint, Err: err}
		}
		return err
	}
	defer func() { _ = content.Close() }() // it was read as far as it matters
	etag := `"` + artifact.ContentHash + `"`
	part, err := rangeOf(r.Header, etag, artifact.Size)
	h := w.Header()
	if err != nil {
		h.Set("Content-Range", "bytes */"+strconv.FormatInt(artifact.Size, 10))
		return err
	}
	h.Set("ETag", etag)
	h.Set("Cache-Control", "private, no-cache") // it is the same for ever, but may be asked for by others
	h.Set("Content-Security-Policy", contentPolicy)
	if named(r.Header.Values("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", mediaType(artifact.Type))
	h.Set("Content-Disposition", disposition(artifact))
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.FormatInt(part.length, 10))
	status := http.StatusOK
	if part.given {
		status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.FormatInt(part.from, 10)+"-"+strconv.FormatInt(part.from+part.length-1, 10)+"/"+strconv.FormatInt(artifact.Size, 10))
		if _, err := io.CopyN(io.Discard, content, part.from); err != nil {
			return rondo.Op("read an artifact", err)
		}
	}
	connection := patient(w)
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	if err := copyChecked(w, connection, content, part); err != nil {
		if !errors.Is(err, errClientGone) {
			exchangeOf(r.Context()).failure = rondo.Op("send the damaged artifact "+artifact.ContentHash, err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// mediaType is the type of an artifact as a header can say it.
func mediaType(s string) string {
	kind, params, err := mime.ParseMediaType(s)
	if err == nil {
		if written := mime.FormatMediaType(kind, params); written != "" && strings.Contains(kind, "/") {
			return written
		}
	}
	return "application/octet-stream"
}

// disposition makes browsers save the bytes and never show them.
func disposition(artifact rondo.Artifact) string {
	name := artifact.Filename
	if at := strings.LastIndexAny(name, `/\`); at >= 0 {
		name = name[at+1:]
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name)
	if strings.Trim(name, ". ") == "" {
		name = artifact.ID.String()
	}
	if written := mime.FormatMediaType("attachment", map[string]string{"filename": name}); written != "" {
		return written
	}
	return "attachment"
}

// named reports whether a list of entity tags has one, or is "*".
func named(lists []string, etag string) bool {
	for _, list := range lists {
		for tag := range strings.SplitSeq(list, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}

// byteRange is what of the bytes is answered.
type byteRange struct {
	given        bool // false = all of them
	from, length int64
}

// rangeOf reads one range of bytes. Several ranges, other units and a range of
// another content (If-Range) are answered with everything, as RFC 9110 allows.
func rangeOf(h http.Header, etag string, size int64) (byteRange, error) {
	all := byteRange{length: size}
	spec, ok := strings.CutPrefix(h.Get("Range"), "bytes=")
	if !ok || strings.Contains(spec, ",") || h.Get("If-Range") != "" && h.Get("If-Range") != etag {
		return all, nil
	}
	first, last, ok := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok {
		return all, nil
	}
	from, to := int64(0), size-1
	switch n, ok := position(last); {
	case first == "" && ok: // the last n bytes
		from = max(0, size-n)
	case first == "" || last != "" && !ok:
		return all, nil
	case last != "":
		to = min(to, n)
	}
	if first != "" {
		if from, ok = position(first); !ok {
			return all, nil // what is no range is ignored
		}
	}
	if from > to {
		return all, &rondo.Error{Code: codeRange, Message: "the artifact does not have these bytes", Hint: "ask for less; Content-Range says how many there are"}
	}
	return byteRange{given: true, from: from, length: to - from + 1}, nil
}

// position reads a number of a range, which is digits alone.
func position(digits string) (n int64, ok bool) {
	read, err := strconv.ParseUint(digits, 10, 63)
	return int64(read), err == nil
}

// errClientGone is for answers that nobody takes any more.
var errClientGone = errors.New("the client takes no more")

// copyChecked writes the bytes of a part. Of all of them the last piece is held
// back until the reader has said that they are the right ones.
func copyChecked(w io.Writer, connection *http.ResponseController, content io.Reader, part byteRange) error {
	left := part.length
	held, next := make([]byte, 0, contentPiece), make([]byte, contentPiece)
	write := func(piece []byte) error {
		_ = connection.SetWriteDeadline(time.Now().Add(streamPatience))
		n, err := w.Write(piece)
		left -= int64(n)
		if err != nil {
			return fmt.Errorf("%w: %w", errClientGone, err)
		}
		return nil
	}
	for {
		n, err := io.ReadFull(content, next)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return err
		}
		if err := write(held[:min(int64(len(held)), left)]); err != nil {
			return err
		}
		held, next = next[:n], held[:cap(held)]
		if ended || part.given && left <= int64(n) {
			if err := write(held[:min(int64(n), left)]); err != nil {
				return err
			}
			if left > 0 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	}
}

const contentPiece = 64 << 10
