package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// readOutput follows a path into {"data": …, "artifacts": […]}.
func readOutput(out Output, way path) (json.RawMessage, string) {
	if len(way) > 0 {
		switch way[0].name {
		case "data":
			return follow(out.Data, way[1:])
		case "artifacts":
			return follow(artifactsSeen(out.Artifacts), way[1:])
		}
		return nil, ""
	}
	seen := append([]byte(`{"artifacts":`), artifactsSeen(out.Artifacts)...)
	if len(out.Data) > 0 {
		seen = append(append(seen, `,"data":`...), out.Data...)
	}
	return append(seen, '}'), ""
}

// artifactsSeen are artifacts as selectors see them: what they are, neither whose
// nor when.
func artifactsSeen(artifacts []rondo.Artifact) []byte {
	list := []byte{'['}
	for i := range artifacts {
		a := &artifacts[i]
		if i > 0 {
			list = append(list, ',')
		}
		list = append(append(list, `{"type":`...), quoted(a.Type)...)
		list = appendText(list, "name", a.Filename)
		list = appendText(list, "uri", a.URI)
		list = appendText(list, "hash", a.ContentHash)
		if a.Size >= 0 {
			list = strconv.AppendInt(append(list, `,"size":`...), a.Size, 10)
		}
		if len(a.Metadata) > 0 {
			list = append(append(list, `,"metadata":`...), a.Metadata...)
		}
		list = append(list, '}')
	}
	return append(list, ']')
}

func appendText(object []byte, name, text string) []byte {
	if text == "" {
		return object
	}
	object = append(append(object, ',', '"'), name...)
	return append(append(object, '"', ':'), quoted(text)...)
}

// ArtifactsRead are the artifacts of every output that the selectors of a step's
// input lead into, whatever part of it they take.
func (w *Workflow) ArtifactsRead(step int, s Sources) [][]rondo.Artifact {
	var lists [][]rondo.Artifact
	for i := range w.Steps[step].input {
		lists = w.Steps[step].input[i].selector.artifacts(s, lists)
	}
	return lists
}

func (c *selector) artifacts(s Sources, lists [][]rondo.Artifact) [][]rondo.Artifact {
	var out Output
	switch {
	case c.word == "step" && s.Step != nil:
		out, _ = s.Step(c.step)
	case c.word == "base" && s.Base != nil:
		out, _ = s.Base(c.id)
	}
	if len(out.Artifacts) > 0 {
		lists = append(lists, out.Artifacts)
	}
	for i := range c.parts {
		lists = c.parts[i].artifacts(s, lists)
	}
	return lists
}

// OutputHash is the digest of what a step gave: the data and each artifact's type,
// name, metadata and content (its digest, or its uri where Rondo does not have the
// bytes). Data that has no canonical form counts byte by byte.
func OutputHash(data json.RawMessage, artifacts []rondo.Artifact) string {
	seen := []byte(`{"artifacts":[`)
	for i := range artifacts {
		a := &artifacts[i]
		if i > 0 {
			seen = append(seen, ',')
		}
		seen = append(append(seen, `{"type":`...), quoted(a.Type)...)
		seen = appendText(seen, "name", a.Filename)
		if a.ContentHash != "" {
			seen = appendText(seen, "hash", a.ContentHash)
		} else {
			seen = appendText(seen, "uri", a.URI)
		}
		if len(a.Metadata) > 0 {
			seen = append(append(seen, `,"metadata":`...), a.Metadata...)
		}
		seen = append(seen, '}')
	}
	seen = append(seen, ']')
	if len(data) > 0 {
		seen = append(append(seen, `,"data":`...), data...)
	}
	seen = append(seen, '}')
	canonical, err := canon.JSON(seen)
	if err != nil {
		canonical = append([]byte("bytes "), seen...)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
