package runs

import (
	"context"
	"io"

	"github.com/rondo-engine/rondo"
)

// RunArtifacts returns what the steps of a run have attached, made or reused; a
// step that is not "" names one.
func (s *Service) RunArtifacts(ctx context.Context, p rondo.Principal, id rondo.ID, step string) ([]rondo.Artifact, error) {
	const op = "list the artifacts of a run"
	if _, err := s.store.Run(ctx, p.Tenant, id); err != nil {
		return nil, rondo.Op(op, err)
	}
	artifacts, err := s.store.RunArtifacts(ctx, p.Tenant, id, step)
	return artifacts, rondo.Op(op, err)
}

// Artifact returns one artifact, or CodeNotFound.
func (s *Service) Artifact(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Artifact, error) {
	artifact, err := s.store.Artifact(ctx, p.Tenant, id)
	return artifact, rondo.Op("read an artifact", err)
}

// OpenArtifact returns the bytes of an artifact. Reading them ends with an error of
// CodeStateCorrupt when they are not those of its content hash. An artifact whose
// bytes are not Rondo's, or are gone, is CodeNotFound.
func (s *Service) OpenArtifact(ctx context.Context, p rondo.Principal, id rondo.ID) (io.ReadCloser, rondo.Artifact, error) {
	const op = "open an artifact"
	artifact, err := s.store.Artifact(ctx, p.Tenant, id)
	if err != nil {
		return nil, artifact, rondo.Op(op, err)
	}
	if artifact.ContentHash == "" || artifact.Size < 0 || s.cfg.Blobs == nil {
		return nil, artifact, &rondo.Error{
			Code: rondo.CodeNotFound, Op: op, Message: "the bytes of this artifact are not stored here",
			Hint: "the artifact names where they are: get them from its uri",
		}
	}
	content, _, err := s.cfg.Blobs.Open(ctx, artifact.ContentHash)
	if rondo.CodeOf(err) == rondo.CodeNotFound {
		return nil, artifact, &rondo.Error{
			Code: rondo.CodeNotFound, Op: op, Message: "the bytes of this artifact are gone from the blob store",
			Hint: "run step " + quoted(artifact.StepID) + " again: its cache entry counts as missing", Err: err,
		}
	}
	return content, artifact, rondo.Op(op, err)
}
