package storetest

var (
	runSignalTests, runRaisedTests, runOutboxTests, runReadTests, runArtifactTests                              []runTest
	runLookupTests, runCacheTests, runEvictionTests, runUserTests, runValueTests, runTenantTests, runPurgeTests []runTest
)
