package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

// maxConversationDefinitions bounds the cache of compiled definitions; when it is
// full it starts over, which costs one compile per definition in use.
const maxConversationDefinitions = 1024

// Conversations finds what drives conversations: the organisation's own
// definitions in the registry, else the shipped ones. What it returns is compiled
// once and kept by hash; a hash names its content, so an entry is never stale.
type Conversations struct {
	store store.Definitions

	mu       sync.RWMutex
	compiled map[string]*turn.Definition
}

var _ chat.Definitions = (*Conversations)(nil)

// Conversations are the conversation definitions of the engine's registry.
func (e *Engine) Conversations() *Conversations { return NewConversations(e.store) }

// NewConversations finds definitions in a registry; nil = there are the shipped
// ones alone.
func NewConversations(s store.Definitions) *Conversations {
	return &Conversations{store: s, compiled: map[string]*turn.Definition{}}
}

// Named returns the active definition of a name for new conversations of an
// organisation.
func (c *Conversations) Named(ctx context.Context, org, name string) (*turn.Definition, rondo.DefinitionRef, error) {
	if c.store == nil || org == "" {
		return c.shipped(name)
	}
	found, err := c.store.DefinitionList(ctx, store.DefinitionFilter{
		OrgID: org, Kind: rondo.KindConversation, Status: rondo.DefinitionActive, Name: name,
	}, store.Page{Limit: 1})
	if err != nil {
		return nil, rondo.DefinitionRef{}, rondo.Op("find the conversation definition", err)
	}
	if len(found) == 0 {
		return c.shipped(name)
	}
	d := found[0]
	ref := rondo.DefinitionRef{ID: d.ID.String(), Name: d.Name, Version: d.Version, Hash: d.SnapshotHash}
	if known := c.known(ref.Hash); known != nil {
		return known, ref, nil
	}
	document, hash, err := freezeConversation(d.Body) // one published before they were frozen has no hash
	if err != nil {
		return nil, rondo.DefinitionRef{}, err
	}
	ref.Hash = hash
	compiled, err := c.compile(hash, document)
	return compiled, ref, err
}

// Frozen returns the definition that a conversation was started with, whatever
// became of it since.
func (c *Conversations) Frozen(ctx context.Context, org string, ref rondo.DefinitionRef) (*turn.Definition, error) {
	if known := c.known(ref.Hash); known != nil {
		return known, nil
	}
	if ref.Version == 0 || c.store == nil {
		return c.shippedThen(ctx, ref)
	}
	document, err := c.store.Snapshot(ctx, ref.Hash)
	if rondo.CodeOf(err) == rondo.CodeNotFound {
		document, err = c.published(ctx, org, ref)
	}
	if err != nil {
		return nil, rondo.Op("read the definition of the conversation", err)
	}
	return c.compile(ref.Hash, document)
}

// shipped returns the shipped definition of a name.
func (c *Conversations) shipped(name string) (*turn.Definition, rondo.DefinitionRef, error) {
	frozen, ok := shippedConversations()[name]
	if !ok {
		return nil, rondo.DefinitionRef{}, &rondo.Error{
			Code: rondo.CodeNotFound, Message: fmt.Sprintf("there is no active conversation definition %q", name),
			Hint: "publish one of that name, or use a shipped one: " + shippedNames(),
		}
	}
	compiled, err := c.compile(frozen.hash, frozen.document)
	return compiled, rondo.DefinitionRef{ID: name, Hash: frozen.hash}, err
}

// shippedConversations freezes the shipped definitions on first use; they never
// change. A test holds that all of them can be frozen.
var shippedConversations = sync.OnceValue(func() map[string]frozenShipped {
	all := map[string]frozenShipped{}
	for name, body := range turn.Shipped() {
		if document, hash, err := freezeConversation(body); err == nil {
			all[name] = frozenShipped{document: document, hash: hash}
		}
	}
	return all
})

type frozenShipped struct {
	document []byte
	hash     string
}

// shippedThen returns a shipped definition as it was when a conversation began:
// the one of this version of Rondo, or that of an earlier one, which stays in the
// registry as a template.
func (c *Conversations) shippedThen(ctx context.Context, ref rondo.DefinitionRef) (*turn.Definition, error) {
	compiled, now, err := c.shipped(ref.ID)
	if err == nil && (now.Hash == ref.Hash || ref.Hash == "") {
		return compiled, nil
	}
	if c.store == nil {
		return nil, rondo.NotFound("conversation definition")
	}
	templates, err := c.store.DefinitionList(ctx, store.DefinitionFilter{Templates: true, Kind: rondo.KindConversation, Name: ref.ID}, store.Page{})
	if err != nil {
		return nil, rondo.Op("read the definition of the conversation", err)
	}
	for _, d := range templates {
		if document, hash, err := freezeConversation(d.Body); err == nil && hash == ref.Hash {
			return c.compile(hash, document)
		}
	}
	return nil, rondo.NotFound("conversation definition")
}

// published freezes a definition that was published before frozen forms were
// kept. Its body has not changed since: only drafts do.
func (c *Conversations) published(ctx context.Context, org string, ref rondo.DefinitionRef) ([]byte, error) {
	id, err := rondo.ParseID(ref.ID)
	if err != nil {
		return nil, rondo.NotFound("conversation definition")
	}
	d, err := c.store.Definition(ctx, org, id)
	if err != nil {
		return nil, err
	}
	document, hash, err := freezeConversation(d.Body)
	if err == nil && hash != ref.Hash {
		err = rondo.NotFound("conversation definition")
	}
	return document, err
}

func (c *Conversations) known(hash string) *turn.Definition {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.compiled[hash]
}

func (c *Conversations) compile(hash string, document []byte) (*turn.Definition, error) {
	if known := c.known(hash); known != nil {
		return known, nil
	}
	body, ok := conversationOf(document)
	if !ok {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: "compile conversation definition", Message: "the frozen form is not one of a conversation"}
	}
	compiled, problems := turn.Compile(body)
	if len(problems) > 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalidDef, Op: "compile conversation definition", Message: "the conversation definition is not valid any more", Hint: "publish it anew", Fields: problems}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.compiled) >= maxConversationDefinitions {
		clear(c.compiled)
	}
	c.compiled[hash] = compiled
	return compiled, nil
}

// frozenConversation is the document that drives conversations. It has the shape
// of a frozen case, whose kinds it has no use for.
type frozenConversation struct {
	Definition json.RawMessage            `json:"definition"`
	Kinds      map[string]json.RawMessage `json:"kinds"`
}

// freezeConversation makes the document of a conversation definition and its hash.
// Nothing but white space is taken out: in a statechart the order of members has a
// meaning, so two orders are two definitions.
func freezeConversation(body []byte) (document []byte, hash string, err error) {
	document, err = json.Marshal(frozenConversation{Definition: body, Kinds: map[string]json.RawMessage{}})
	if err != nil {
		return nil, "", rondo.Op("freeze conversation definition", err)
	}
	sum := sha256.Sum256(document)
	return document, hex.EncodeToString(sum[:]), nil
}

// conversationOf is the definition in a frozen document; false when it is not one
// of a conversation.
func conversationOf(document []byte) (body json.RawMessage, ok bool) {
	var frozen frozenConversation
	var head struct {
		Machine json.RawMessage `json:"machine"`
	}
	if json.Unmarshal(document, &frozen) != nil || json.Unmarshal(frozen.Definition, &head) != nil || head.Machine == nil {
		return nil, false
	}
	return frozen.Definition, true
}

func shippedNames() string {
	return strings.Join(slices.Sorted(maps.Keys(shippedConversations())), ", ")
}
