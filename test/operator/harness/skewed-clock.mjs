/** Loaded before a process begins (`--import`): its clock is off by DRYDOCK_TEST_SKEW seconds. */
const by = Number(process.env.DRYDOCK_TEST_SKEW ?? 0);
const instant = Temporal.Now.instant.bind(Temporal.Now);
const now = Date.now;
Temporal.Now.instant = () => instant().add({ seconds: by });
Date.now = () => now() + by * 1000;
