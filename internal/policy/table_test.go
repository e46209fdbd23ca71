package policy_test

import "slices"

// rule says what the non-test files of one package may import besides the
// standard library. Test files may import anything.
type rule struct {
	// rondo lists packages of this module, "." being the root package.
	rondo []string
	// third lists other modules; a path covers everything below it.
	third []string
	// pure packages decide and do nothing else: see forbiddenInPure.
	pure bool
	// anything is for the composition root: every package of this module, and
	// every module but those that only their owners may know (see exclusive).
	anything bool
}

// Third-party modules, by what they are for.
const (
	jsonExperiment = "github.com/go-json-experiment/json"
	jsonSchema     = "github.com/santhosh-tekuri/jsonschema/v6"
	yaml           = "go.yaml.in/yaml/v3"
	xsync          = "golang.org/x/sync"
	xterm          = "golang.org/x/term"
	sqliteDriver   = "modernc.org/sqlite"
	postgresDriver = "github.com/jackc/pgx/v5"
	mysqlDriver    = "github.com/go-sql-driver/mysql"
	redisDriver    = "github.com/redis/go-redis/v9"
	huma           = "github.com/danielgtaylor/huma/v2"
	jwx            = "github.com/lestrrat-go/jwx/v3"
	prometheus     = "github.com/prometheus/client_golang"
	kong           = "github.com/alecthomas/kong"
	cmp            = "github.com/google/go-cmp"
	rapid          = "pgregory.net/rapid"
	goleak         = "go.uber.org/goleak"
	minio          = "github.com/minio/minio-go/v7"
	ssrf           = "code.dny.dev/ssrf"
)

// The layers that rows below are built from. Each may import those above it.
var (
	contracts = []string{".", "event"}
	core      = with(contracts, "internal/canon", "internal/cond", "internal/definition", "internal/flow")
	ports     = with(contracts, "store", "bus")
	services  = with(core, "internal/explain", "internal/deftest", "store", "bus", "internal/caseloop", "engine", "internal/metrics", "internal/auth")
)

// with returns a layer with more packages.
func with(layer []string, more ...string) []string { return slices.Concat(layer, more) }

// imports is the direction of imports: every package of the module has a row.
// Widening a row is a decision about the architecture, not a detail.
var imports = map[string]rule{
	// The nouns and the wire contract. Canonical JSON is a leaf below them all:
	// it knows JSON and nothing of Rondo but its errors.
	".":              {}, // the standard library only
	"internal/canon": {rondo: []string{"."}, third: []string{jsonExperiment}, pure: true},
	"event":          {rondo: []string{".", "internal/canon"}, third: []string{jsonExperiment, jsonSchema}},

	// The pure core.
	"internal/cond":       {rondo: with(contracts, "internal/canon"), pure: true},
	"internal/definition": {rondo: with(contracts, "internal/canon", "internal/cond", "internal/turn"), third: []string{jsonExperiment, jsonSchema, yaml}, pure: true},
	"internal/turn":       {rondo: []string{".", "internal/canon", "internal/cond", "internal/chart"}, third: []string{jsonExperiment, jsonSchema}, pure: true},
	"internal/flow":       {rondo: core, third: []string{jsonExperiment}, pure: true},
	"internal/chart":      {rondo: []string{".", "internal/canon", "internal/cond"}, pure: true},
	"internal/explain":    {rondo: core, pure: true},
	"internal/plan":       {rondo: []string{".", "internal/canon"}, third: []string{jsonExperiment, jsonSchema}, pure: true},
	"internal/deftest":    {rondo: core, third: []string{jsonExperiment}, pure: true},

	// The ports, their conformance suites and their drivers. A driver knows its
	// port and its technology, never the engine.
	"store":                   {rondo: contracts},
	"store/storetest":         {rondo: with(contracts, "store"), third: []string{cmp, rapid, xsync}},
	"store/memory":            {rondo: with(contracts, "store")},
	"store/internal/sqlstore": {rondo: with(contracts, "store"), third: []string{xsync}},
	"store/sqlite":            {rondo: with(contracts, "store", "store/internal/sqlstore"), third: []string{sqliteDriver}},
	"store/postgres":          {rondo: with(contracts, "store", "store/internal/sqlstore"), third: []string{postgresDriver}},
	"store/mysql":             {rondo: with(contracts, "store", "store/internal/sqlstore"), third: []string{mysqlDriver}},
	"store/hot":               {rondo: with(contracts, "store")},
	"store/redis":             {rondo: with(contracts, "store"), third: []string{redisDriver, jsonExperiment}}, // conversations and the hot tier of runs
	"bus":                     {rondo: contracts},
	"bus/bustest":             {rondo: with(contracts, "bus"), third: []string{cmp, rapid, xsync}},
	"bus/internal/outage":     {rondo: []string{"."}},
	"bus/embedded":            {rondo: with(ports, "bus/internal/outage"), third: []string{xsync}}, // a bus on the store's own log
	"bus/redis":               {rondo: with(contracts, "bus", "bus/internal/outage"), third: []string{redisDriver, xsync}},

	// The port to AI agents, its conformance suite and its drivers.
	"agent":                   {rondo: []string{"."}},
	"agent/internal/preamble": {},
	"agent/internal/sse":      {},
	"agent/internal/wire":     {rondo: []string{"agent", "agent/internal/sse"}},
	"agent/echo":              {rondo: []string{".", "agent", "agent/internal/preamble"}},
	"agent/scripted":          {rondo: []string{".", "agent", "agent/internal/preamble"}, third: []string{yaml}},
	"agent/copilot":           {rondo: []string{".", "agent", "agent/internal/sse", "agent/internal/wire"}},
	"agent/openai":            {rondo: []string{".", "agent", "agent/internal/sse", "agent/internal/wire"}},
	"agent/breaker":           {rondo: []string{".", "agent"}},
	"agent/agenttest":         {rondo: []string{".", "agent"}},

	// The ports to where artifacts are kept and to who does the work of run steps.
	"blob":                  {rondo: []string{"."}},
	"blob/blobtest":         {rondo: []string{".", "blob"}},
	"blob/file":             {rondo: []string{".", "blob"}},
	"blob/s3":               {rondo: []string{".", "blob"}, third: []string{minio, xsync}},
	"blob/blobs":            {rondo: []string{".", "blob", "blob/file", "blob/s3"}},
	"skill":                 {rondo: []string{"."}},
	"skill/skilltest":       {rondo: []string{".", "skill"}, third: []string{goleak}},
	"skill/internal/spec":   {rondo: []string{".", "internal/canon"}},
	"skill/internal/answer": {rondo: []string{".", "skill"}},
	"skill/internal/text":   {rondo: []string{"."}},
	"skill/internal/schema": {rondo: []string{"."}, third: []string{jsonSchema}},
	"internal/guard":        {rondo: []string{"."}, third: []string{ssrf}}, // requests to where tenants say
	"skill/exec":            {rondo: []string{".", "skill", "skill/internal/answer", "skill/internal/spec", "internal/plan"}},
	"skill/http":            {rondo: []string{".", "skill", "skill/internal/answer", "skill/internal/spec", "skill/internal/text", "internal/guard"}},
	"skill/llm":             {rondo: []string{".", "skill", "skill/internal/answer", "skill/internal/spec", "skill/internal/text", "skill/internal/schema", "internal/guard"}},
	"skill/template":        {rondo: []string{".", "skill", "skill/internal/answer", "skill/internal/spec", "skill/internal/text"}},
	"skill/skills":          {rondo: []string{".", "skill", "skill/exec", "skill/http", "skill/llm", "skill/template", "skill/internal/spec", "internal/canon", "internal/guard", "internal/plan"}},

	// The application: the core and the ports, no driver of a technology. The
	// embedded bus is none: it stands on the store port alone, and the engine
	// needs to know that a commit already made its events durable.
	"internal/caseloop": {rondo: with(core, "store", "bus"), third: []string{xsync}},
	"internal/metrics":  {rondo: contracts, third: []string{prometheus}},
	"engine":            {rondo: with(core, "internal/explain", "internal/deftest", "store", "bus", "bus/embedded", "internal/caseloop", "internal/metrics", "internal/turn", "engine/chat", "engine/runs", "internal/plan"), third: []string{xsync}},
	"engine/chat":       {rondo: []string{".", "store", "agent", "internal/canon", "internal/turn"}},
	"engine/runs":       {rondo: with(contracts, "store", "blob", "skill", "internal/canon", "internal/plan"), third: []string{jsonExperiment}},

	// What modules and clients import.
	"worker":         {rondo: with(contracts, "bus"), third: []string{xsync}},
	"worker/httpbus": {rondo: with(contracts, "bus")},
	"worker/steps":   {rondo: with(contracts, "bus", "worker", "skill")},
	"client":         {rondo: contracts},
	"modules":        {rondo: with(contracts, "bus", "worker"), third: []string{xsync}},

	// What a user's own module imports, and nothing else.
	"examples":        {}, // files that the demo registers
	"examples/module": {rondo: []string{"event", "bus", "bus/redis", "worker", "worker/httpbus"}},

	// The checker and the simulation: the real loop on the executable
	// specification of the store, never on a database.
	"internal/invariant": {rondo: with(core, "store")},
	"internal/sim":       {rondo: with(services, "store/memory", "bus/embedded", "internal/invariant", "modules", "worker"), third: []string{xsync}},

	// The edges.
	"internal/auth":    {rondo: contracts, third: []string{jwx, jsonExperiment}},
	"internal/httpapi": {rondo: with(services, "agent", "engine/chat", "engine/runs", "internal/turn"), third: []string{huma, jsonExperiment}},
	"internal/config":  {rondo: contracts, third: []string{yaml}},
	"internal/cli": {
		rondo: with(services, "client", "internal/config", "internal/app", "internal/sim", "internal/invariant", "internal/bench", "internal/demo", "engine/runs", "internal/plan"),
		third: []string{kong, yaml, xterm},
	},
	"internal/demo":  {rondo: with(services, "worker", "modules", "skill")},
	"internal/bench": {rondo: with(services, "agent", "agent/scripted", "engine/chat", "engine/runs", "internal/plan", "skill", "bus/embedded", "worker", "modules", "client", "internal/app")},
	"internal/app":   {anything: true}, // the only composition root
	"cmd/rondo":      {rondo: []string{".", "internal/cli", "internal/app"}},

	// For tests only.
	"internal/auth/authtest": {rondo: []string{".", "internal/auth"}, third: []string{jwx, jsonExperiment}},
	"internal/acceptance":    {}, // tests alone
	"internal/testenv":       {third: []string{postgresDriver, mysqlDriver, redisDriver}},
	"internal/policy":        {},
	"internal/doctest":       {},
}

// exclusive names modules that only some packages may know, whatever else their
// rows allow: a technology stays behind its port or at its edge.
var exclusive = map[string][]string{
	huma:           {"internal/httpapi"},
	kong:           {"internal/cli"},
	jwx:            {"internal/auth", "internal/auth/authtest"},
	sqliteDriver:   {"store/sqlite"},
	postgresDriver: {"store/postgres", "internal/testenv"},
	mysqlDriver:    {"store/mysql", "internal/testenv"},
	minio:          {"blob/s3"},
	ssrf:           {"internal/guard"},
	redisDriver:    {"bus/redis", "store/redis", "internal/testenv"},
}

// testSupport may be imported by tests and by each other, by nothing that ships.
var testSupport = []string{"internal/testenv", "internal/auth/authtest", "store/storetest", "bus/bustest", "blob/blobtest", "skill/skilltest"}

// forbiddenInPure are the packages of the standard library through which the
// world comes in.
var forbiddenInPure = []string{
	"os", "net", "syscall", "io/ioutil", "database/sql", "log", "math/rand", "crypto/rand", "testing", "runtime", "unsafe", "plugin",
}

// pureNetPackages are below net but only work on values.
var pureNetPackages = []string{"net/url", "net/netip", "net/mail"}

// forbiddenCalls are functions of otherwise harmless packages that read the
// clock, wait, or start something behind the caller's back.
var forbiddenCalls = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"context": {"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause", "AfterFunc"},
	"fmt":     {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}
