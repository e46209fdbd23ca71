package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
)

type reasonKey struct{ org, scope, code string }

type kindKey struct{ org, name string }

// The states of a stored step kind.
const (
	stepKindActive   = "active"
	stepKindArchived = "archived"
)

// ReasonCodes implements store.Catalogue.
func (s *Store) ReasonCodes(ctx context.Context, org string) ([]rondo.ReasonCode, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var codes []rondo.ReasonCode
	for key, code := range s.reasonCodes {
		_, shadowed := s.reasonCodes[reasonKey{org, key.scope, key.code}]
		if key.org == org || key.org == "" && !shadowed {
			code.ApplicableStepKinds = slices.Clone(code.ApplicableStepKinds)
			codes = append(codes, code)
		}
	}
	slices.SortFunc(codes, func(a, b rondo.ReasonCode) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Code, b.Code))
	})
	return codes, nil
}

// PutReasonCode implements store.Catalogue.
func (s *Store) PutReasonCode(ctx context.Context, code rondo.ReasonCode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reasonKey{code.OrgID, code.Scope, code.Code}
	if replaced, ok := s.reasonCodes[key]; ok {
		code.ID = replaced.ID
	}
	code.ApplicableStepKinds = slices.Clone(code.ApplicableStepKinds)
	s.reasonCodes[key] = code
	return nil
}

// ReasonCode implements store.Catalogue.
func (s *Store) ReasonCode(ctx context.Context, org string, id rondo.ID) (rondo.ReasonCode, error) {
	if err := ctx.Err(); err != nil {
		return rondo.ReasonCode{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, code := range s.reasonCodes {
		if code.ID == id && (code.OrgID == org || code.OrgID == "") {
			code.ApplicableStepKinds = slices.Clone(code.ApplicableStepKinds)
			return code, nil
		}
	}
	return rondo.ReasonCode{}, rondo.NotFound("reason code")
}

// StepKinds implements store.Catalogue.
func (s *Store) StepKinds(ctx context.Context, org string) ([]rondo.StepKind, error) {
	return s.newestKinds(ctx, func(owner string) bool { return owner == org })
}

// EveryStepKind implements store.Catalogue.
func (s *Store) EveryStepKind(ctx context.Context) ([]rondo.StepKind, error) {
	return s.newestKinds(ctx, func(string) bool { return true })
}

func (s *Store) newestKinds(ctx context.Context, of func(org string) bool) ([]rondo.StepKind, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []rondo.StepKind
	for key, versions := range s.stepKinds {
		if !of(key.org) {
			continue
		}
		for _, kind := range slices.Backward(versions) {
			if kind.Status == stepKindActive {
				kinds = append(kinds, kind)
				break
			}
		}
	}
	slices.SortFunc(kinds, func(a, b rondo.StepKind) int {
		return cmp.Or(cmp.Compare(a.OrgID, b.OrgID), cmp.Compare(a.Name, b.Name))
	})
	return kinds, nil
}

// StepKindVersions implements store.Catalogue.
func (s *Store) StepKindVersions(ctx context.Context, org, name string) ([]rondo.StepKind, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := slices.Clone(s.stepKinds[kindKey{org, name}])
	slices.Reverse(versions)
	return versions, nil
}

// ArchiveStepKind implements store.Catalogue.
func (s *Store) ArchiveStepKind(ctx context.Context, org, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := s.stepKinds[kindKey{org, name}]
	if len(versions) == 0 {
		return rondo.NotFound("step kind")
	}
	for i := range versions {
		versions[i].Status = stepKindArchived
	}
	return nil
}

// PutStepKind implements store.Catalogue.
func (s *Store) PutStepKind(ctx context.Context, kind rondo.StepKind) (rondo.StepKind, error) {
	if err := ctx.Err(); err != nil {
		return rondo.StepKind{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := kindKey{kind.OrgID, kind.Name}
	kind.CreatedAt = stored(kind.CreatedAt)
	kind.Version = len(s.stepKinds[key]) + 1
	s.stepKinds[key] = append(s.stepKinds[key], kind)
	return kind, nil
}
