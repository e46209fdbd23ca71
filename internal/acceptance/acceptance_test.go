package acceptance

import (
	"testing"
)

// scenario is one promise to users.
type scenario struct {
	name string
	run  func(n *tenant)
}

func scenarios() []scenario {
	return []scenario{
		{"every template reaches its end by the expected way", everyTemplateReachesItsEnd},
		{"a failed gate halts with its reason", aFailedGateHalts},
		{"a step timeout halts the case", aStepTimeoutHalts},
		{"a retry succeeds on the second attempt", aRetrySucceedsOnTheSecondAttempt},
		{"retries that are used up halt the case", retriesThatAreUsedUpHalt},
		{"a client drives the case and nothing is requested", aClientDrivesTheCase},
		{"what a client does is judged", whatAClientDoesIsJudged},
		{"a template is cloned, changed and published", aTemplateIsClonedChangedAndPublished},
		{"an organisation has reason codes of its own", anOrganisationHasReasonCodesOfItsOwn},
		{"a running case keeps the definition it started with", aRunningCaseKeepsItsDefinition},
		{"a repeated completion does not advance twice", aRepeatedCompletionDoesNotAdvanceTwice},
		{"an early event is kept and judged at the start", anEarlyEventIsKept},
		{"a late event is stale", aLateEventIsStale},
		{"a foreign event moves nothing", aForeignEventMovesNothing},
		{"a payload that breaks the contract halts the case", aBrokenPayloadHalts},
		{"a poisoned entry becomes a dead letter and the stream goes on", aPoisonedEntryBecomesADeadLetter},
		{"a completion that arrives while halted is applied on resume", aCompletionWhileHaltedIsAppliedOnResume},
		{"the deadline beats everything", theDeadlineBeatsEverything},
		{"the deadline of a halted case keeps the reason of the halt", theDeadlineOfAHaltedCase},
		{"a person halts, resumes and cancels", aPersonHaltsResumesAndCancels},
		{"a step is tried again with another input", aStepIsTriedAgainWithAnotherInput},
		{"a case is superseded onto the latest definition", aCaseIsSupersededOntoTheLatestDefinition},
		{"the mode is changed both ways", theModeIsChangedBothWays},
		{"a step is skipped", aStepIsSkipped},
		{"an assignee completes a step", anAssigneeCompletesAStep},
		{"a running case migrates", aRunningCaseMigrates},
		{"only cancel and supersede remain after the deadline", onlyCancelAndSupersedeRemainAfterTheDeadline},
		{"a case without a definition is unmatched until it is replayed", aCaseWithoutADefinition},
		{"a case that is created again is repeated", aCaseThatIsCreatedAgain},
		{"publishing tells all errors at once and changes nothing", publishingTellsAllErrors},
		{"another organisation finds nothing", anotherOrganisationFindsNothing},
		{"a request is asked again until it is answered", aRequestIsAskedAgain},
	}
}

// TestCasesDoWhatUsersWerePromised runs every scenario on every pair of store
// and bus. The scenarios of a pair share one engine and follow each other, so
// that each also finds what the ones before have left.
func TestCasesDoWhatUsersWerePromised(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 1)
			for _, s := range scenarios() {
				t.Run(s.name, func(t *testing.T) {
					s.run(newTenant(t, w))
					checkEverything(t, w.store, w.ground.where(), "after "+s.name)
				})
			}
			w.wantEverythingSent(t)
		})
	}
}
