package rondo

// BulkPreview says what an action on many instances would be about, without
// doing anything.
type BulkPreview struct {
	Count     int
	Sample    []*Instance       // the newest ones, up to BulkSample
	Migration *MigrationPreview // of migrate only
}

// Limits of actions on many instances.
const (
	BulkSample   = 10      // instances shown of a preview
	BulkForecast = 1_000   // instances of a preview of migrate that are told one by one
	MaxBulk      = 100_000 // instances of one job
)

// BulkActions are what can be done to many instances at once: everything but
// completing a manual step, which is about one form.
func BulkActions() []ActionName {
	return []ActionName{
		ActionHalt, ActionResume, ActionCancel, ActionRetryStep, ActionSetMode, ActionSupersede, ActionSkipStep, ActionMigrate,
	}
}

// MigrationPreview says for each instance what migrating it would do.
type MigrationPreview struct {
	Verdicts map[MigrationVerdict]int
	Reasons  map[string]int      // why instances do not move by themselves: how many for each reason
	Items    []MigrationForecast // newest first, at most BulkForecast
}

// MigrationVerdict is what migrating an instance would come to.
type MigrationVerdict string

// The verdicts on a migration.
const (
	MigrationMoves        MigrationVerdict = "moves"         // as it is asked for
	MigrationNeedsMapping MigrationVerdict = "needs_mapping" // a live step has no counterpart that step_map names
	MigrationCannot       MigrationVerdict = "cannot"        // the state of the instance does not allow it
)

// MigrationForecast is the verdict on one instance.
type MigrationForecast struct {
	InstanceID ID
	CaseID     string
	Verdict    MigrationVerdict
	Reason     string            // "" when it moves
	Steps      map[string]string // where each live step goes; those without a place are left out
	Renamed    map[string]string // finished step → what the step map calls it
	Warnings   []string          // what of the target would not work out for the case
}
