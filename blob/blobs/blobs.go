// Package blobs opens blob stores by URL.
//
// It imports the standard library, the root package, the port and its drivers.
package blobs

import (
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
	"github.com/rondo-engine/rondo/blob/file"
	"github.com/rondo-engine/rondo/blob/s3"
)

// Open makes the store of a URL: file:PATH (or a path alone) is a directory, and
// s3://bucket/prefix?endpoint=…&region=… an S3-compatible one with the credentials of
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It does no I/O.
func Open(url string, getenv func(string) string) (blob.Store, error) {
	scheme, rest, found := strings.Cut(url, ":")
	switch {
	case url == "" || found && scheme == "file" && strings.Trim(rest, "/") == "":
		return nil, invalid("no blob store is named")
	case scheme == "s3" && found:
		opts, err := s3.Parse(url, getenv)
		if err != nil {
			return nil, err
		}
		return s3.New(opts)
	case scheme == "file" && found:
		if after, absolute := strings.CutPrefix(rest, "//"); absolute {
			if !strings.HasPrefix(after, "/") {
				return nil, invalid("file:// is followed by a third slash: a host cannot be named")
			}
			rest = after
		}
		return file.New(rest)
	case found && strings.HasPrefix(rest, "//"):
		return nil, invalid("there is no blob store for " + scheme + " URLs")
	default:
		return file.New(url)
	}
}

func invalid(message string) error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Op: "open blob store", Message: message,
		Hint: "write file:data/blobs, or s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-central-1",
	}
}
