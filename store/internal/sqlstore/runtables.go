package sqlstore

// The tables of runs. Hashes and keys are raw bytes; see Digest. runs.live is 1
// until the run has ended, then NULL, so that one index finds what is to be
// claimed. Flights have a table of their own, apart from the entries that they make:
// it is small, so that taking off and landing change few pages of it; an entry is
// written once, at its full size, and keeps the fence of the flight that made it.
var (
	runColumns = []Column{
		{"id", UUID},
		{"tenant_id", Text},
		{"workflow", Text},
		{"trigger_type", Text},
		{"base_id", UUID},
		{"created_at", Int},
		{"record", Bytes},
		{"payload", Bytes},
		{"status", Text},
		{"owner", Text},
		{"live", Int},
		{"fence", Int},
		{"seq", Int},
		{"total_steps", Int},
		{"started_at", Int},
		{"completed_at", Int},
		{"error", Bytes},
	}
	runStepColumns = []Column{
		{"run_id", UUID},
		{"step_id", Text},
		{"attempt", Int},
		{"seq", Int},
		{"status", Text},
		{"skill", Text},
		{"input_hash", Bytes},
		{"cache_key", Bytes},
		{"output_hash", Bytes},
		{"reason", Text},
		{"reason_detail", Bytes},
		{"cache_hit", Int},
		{"correlation", UUID},
		{"started_at", Int},
		{"completed_at", Int},
		{"source_run_id", UUID},
		{"artifacts", Bytes},
		{"extra", Bytes},
		{"manifest", Bytes},
		{"data", Bytes},
		{"debug", Bytes},
	}
	stepCacheColumns = []Column{
		{"tenant_id", Text},
		{"name", Bytes},
		{"fence", Int},
		{"workflow", Text},
		{"step_id", Text},
		{"created_at", Int},
		{"last_used_at", Int},
		{"expires_at", Int},
		{"size", Int},
		{"tainted", Bytes},
		{"input_hash", Bytes},
		{"output_hash", Bytes},
		{"run_id", UUID},
		{"class", Text},
		{"duration_ms", Int},
		{"cost", Float},
		{"artifacts", Bytes},
		{"manifest", Bytes},
		{"data", Bytes},
	}
	flightColumns = []Column{
		{"tenant_id", Text},
		{"name", Bytes},
		{"owner", Text},
		{"fence", Int},
	}
	artifactColumns = []Column{
		{"id", UUID},
		{"tenant_id", Text},
		{"content_hash", Bytes},
		{"record", Bytes},
	}
	artifactUseColumns = []Column{
		{"artifact_id", UUID},
		{"used_by", Bytes},
	}
	raisedColumns = []Column{
		{"event_id", Text},
		{"tenant_id", Text},
		{"run_id", UUID},
		{"occurred_at", Int},
		{"record", Bytes},
	}
)

// RunFixed is how many columns of runs never change once the run is inserted;
// RunStepKey and StepCacheKey are how many make the primary key.
const (
	RunFixed     = 8
	RunStepKey   = 3
	StepCacheKey = 2
)
