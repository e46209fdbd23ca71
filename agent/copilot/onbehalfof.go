package copilot

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/wire"
)

const (
	// margin is how long before its end a token is not used any more.
	margin = time.Minute
	// defaultUsers is how many users' tokens are kept.
	defaultUsers = 10_000
)

// OnBehalfOfConfig says where and as whom users' tokens are exchanged.
type OnBehalfOfConfig struct {
	// Authority is the address of the identity provider's tenant; the exchange is
	// at /oauth2/v2.0/token below it. Default: https://login.microsoftonline.com/
	// and TenantID.
	Authority    string
	TenantID     string // of the identity provider; needed unless Authority is given
	ClientID     string
	ClientSecret string
	Scope        string       // see the function Scope
	HTTP         *http.Client // default: one of its own; redirects are refused in any case
	MaxUsers     int          // whose tokens are kept; default: 10,000
	Now          func() time.Time
}

// OnBehalfOf exchanges the token a user came with for one that the agent accepts,
// and keeps it until shortly before it ends. For one user, one exchange is under
// way at a time.
type OnBehalfOf struct {
	cfg    OnBehalfOfConfig
	url    string
	client *wire.Client

	mu     sync.Mutex
	users  map[userKey]*list.Element // of *userToken
	recent *list.List                // the one used last is in front
}

// userKey names a user; one without an id is known by the digest of the token.
type userKey struct {
	tenant, user string
	digest       [sha256.Size]byte
}

type userToken struct {
	key     userKey
	token   string
	until   time.Time
	pending chan struct{} // closed when the exchange under way is over; nil = none
}

var (
	_ TokenSource = (*OnBehalfOf)(nil)
	_ forgetter   = (*OnBehalfOf)(nil)
)

// NewOnBehalfOf checks the configuration; it calls nobody. Its errors have code
// CodeInvalid.
func NewOnBehalfOf(cfg OnBehalfOfConfig) (*OnBehalfOf, error) {
	if cfg.ClientID == "" || cfg.ClientSecret == "" || cfg.Scope == "" {
		return nil, invalid("the on-behalf-of exchange needs a client id, a client secret and a scope",
			"register Rondo as an application with the identity provider and give its id and secret")
	}
	if cfg.Authority == "" {
		if cfg.TenantID == "" {
			return nil, invalid("the on-behalf-of exchange needs the identity provider's tenant", "give its tenant id or its authority URL")
		}
		cfg.Authority = "https://login.microsoftonline.com/" + segment(cfg.TenantID)
	}
	authority, err := url.Parse(cfg.Authority)
	if err != nil || authority.Host == "" || authority.Scheme != "https" && authority.Scheme != "http" {
		return nil, invalid("the authority is not a URL", "write it like https://login.microsoftonline.com/your-tenant")
	}
	if cfg.MaxUsers <= 0 {
		cfg.MaxUsers = defaultUsers
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &OnBehalfOf{
		cfg: cfg, url: authority.JoinPath("oauth2", "v2.0", "token").String(),
		client: wire.NewClient(provider, cfg.HTTP, wire.Bounds{MaxEvent: 1, MaxEvents: 1, MaxBytes: 256 << 10}),
		users:  map[userKey]*list.Element{}, recent: list.New(),
	}, nil
}

// Token returns the user's token, exchanged anew when there is none that lasts.
func (o *OnBehalfOf) Token(ctx context.Context, session agent.Session) (string, error) {
	if session.UserToken == "" {
		return "", tokenFailure("the caller has no token to act on behalf of", 0, nil)
	}
	for {
		token, entry, pending := o.claim(keyOf(session))
		switch {
		case token != "":
			return token, nil
		case pending != nil:
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-pending:
			}
		default:
			token, until, err := o.exchange(ctx, session.UserToken)
			o.finish(entry, token, until)
			return token, err
		}
	}
}

// claim returns a token that lasts, or the exchange under way to wait for, or an
// entry for the caller's own exchange, which must be finished.
func (o *OnBehalfOf) claim(key userKey) (token string, own *userToken, pending <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if element, there := o.users[key]; there {
		entry, _ := element.Value.(*userToken)
		o.recent.MoveToFront(element)
		switch {
		case entry.pending != nil:
			return "", nil, entry.pending
		case o.cfg.Now().Before(entry.until):
			return entry.token, nil, nil
		}
		entry.token, entry.pending = "", make(chan struct{})
		return "", entry, nil
	}
	entry := &userToken{key: key, pending: make(chan struct{})}
	o.users[key] = o.recent.PushFront(entry)
	if o.recent.Len() > o.cfg.MaxUsers {
		o.drop(o.recent.Back())
	}
	return "", entry, nil
}

func (o *OnBehalfOf) drop(element *list.Element) {
	o.recent.Remove(element)
	if entry, ok := element.Value.(*userToken); ok && o.users[entry.key] == element {
		delete(o.users, entry.key)
	}
}

// finish keeps what an exchange gave; nothing is kept of one that failed.
func (o *OnBehalfOf) finish(entry *userToken, token string, until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	entry.token, entry.until = token, until
	close(entry.pending)
	entry.pending = nil
	element := o.users[entry.key]
	if token == "" && element != nil && element.Value == any(entry) {
		o.drop(element)
	}
}

// Forget drops the user's token: the agent refused it.
func (o *OnBehalfOf) Forget(session agent.Session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	element := o.users[keyOf(session)]
	if element == nil {
		return
	}
	if entry, ok := element.Value.(*userToken); ok && entry.pending == nil {
		o.drop(element)
	}
}

func keyOf(session agent.Session) userKey {
	if session.UserID == "" {
		return userKey{tenant: session.TenantID, digest: sha256.Sum256([]byte(session.UserToken))}
	}
	return userKey{tenant: session.TenantID, user: session.UserID}
}

// exchange asks for a token, once.
func (o *OnBehalfOf) exchange(ctx context.Context, assertion string) (token string, until time.Time, err error) {
	form := url.Values{
		"grant_type":          {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"requested_token_use": {"on_behalf_of"},
		"client_id":           {o.cfg.ClientID},
		"client_secret":       {o.cfg.ClientSecret},
		"assertion":           {assertion},
		"scope":               {o.cfg.Scope},
	}
	asked := o.cfg.Now()
	answer, err := o.client.Post(ctx, o.url, http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"},
		"Accept":       {"application/json"},
	}, []byte(form.Encode()))
	if err != nil {
		return "", time.Time{}, exchangeError(err)
	}
	defer answer.Close()
	if answer.Stream() {
		return "", time.Time{}, tokenFailure("the identity provider's answer is not a token", 0, nil)
	}
	text, err := answer.JSON(ctx)
	if err != nil {
		return "", time.Time{}, exchangeError(err)
	}
	var body struct {
		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"` // a string with some providers
	}
	if json.Unmarshal(text, &body) != nil || body.AccessToken == "" {
		return "", time.Time{}, tokenFailure("the identity provider's answer is not a token", 0, nil)
	}
	// One that does not say how long it lasts is used once.
	seconds, err := body.ExpiresIn.Float64()
	if err != nil || seconds <= 0 {
		return body.AccessToken, asked, nil
	}
	life := time.Duration(min(seconds, (24*time.Hour).Seconds()) * float64(time.Second))
	return body.AccessToken, asked.Add(life - margin), nil
}

// exchangeError is the failure of a call, as one of having a token.
func exchangeError(err error) error {
	failed, ok := errors.AsType[*agent.Error](err)
	if !ok {
		return err
	}
	if failed.Kind == agent.KindRefused {
		refused := tokenFailure("the identity provider refused to exchange the user's token", failed.Status, failed)
		refused.RetryAfter = failed.RetryAfter
		return refused
	}
	return tokenFailure("the user's token could not be exchanged", failed.Status, failed)
}
