import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { startControlPlane } from '../test/control-plane/control-plane.ts';
import { wantedRelease } from '../test/control-plane/releases.ts';
import type { ControlPlane } from '../test/control-plane/types.ts';
import { makeNamespace } from './arena.ts';
import { boundsOf } from './bounds.ts';
import type { Contender, ContenderName } from './contenders/contender.ts';
import { drain } from './contenders/drain.ts';
import { floor } from './contenders/floor.ts';
import { kubectl } from './contenders/kubectl.ts';
import { nodeMaintenance, operator } from './contenders/operator.ts';
import { type Measurement, measure } from './measure.ts';
import { type Options, optionsFrom, usage } from './options.ts';
import { machine, tableOf, verdictsOf } from './report.ts';
import { scenarioNamed } from './scenarios.ts';
import { summariesOf } from './summary.ts';

function say(line: string): void {
  void process.stderr.write(`${line}\n`);
}

type Make = (controlPlane: ControlPlane, options: Options) => Contender | Promise<Contender>;

const make: Readonly<Record<ContenderName, Make>> = {
  floor: (controlPlane, { floorConnections }) => floor(controlPlane, floorConnections),
  kubectl,
  operator,
  nodemaintenance: nodeMaintenance,
  drain,
};

/**
 * The contenders take turns, so that a machine that gets slower or faster meanwhile does it to all
 * of them.
 */
async function runAll(
  controlPlane: ControlPlane,
  contenders: readonly Contender[],
  options: Options,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (const contender of contenders)
    await measure(controlPlane, scenarioNamed('warm-up'), contender, 1);
  for (const scenario of options.scenarios) {
    for (let run = 1; run <= (options.runs ?? scenario.runs); run++) {
      for (const contender of contenders.filter(
        ({ name }) => scenario.without?.includes(name) !== true,
      )) {
        const measurement = await measure(controlPlane, scenario, contender, run);
        const { total, refused } = measurement.tally.evictions;
        say(
          `${scenario.name} ${run} ${contender.name}: ${measurement.seconds.toFixed(2)} s, ${total} eviction calls, ${refused} refused`,
        );
        measurements.push(measurement);
      }
    }
  }
  return measurements;
}

function write(file: string, result: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
}

async function bench(controlPlane: ControlPlane, options: Options): Promise<number> {
  await makeNamespace(controlPlane.api);
  const contenders: Contender[] = [];
  for (const name of options.contenders) contenders.push(await make[name](controlPlane, options));
  const measurements = await runAll(controlPlane, contenders, options);
  const memory = await contenders.find(({ name }) => name === 'operator')?.memory?.();
  for (const contender of contenders) await contender.stop();
  const summaries = summariesOf(measurements);
  const bounds = boundsOf(measurements, summaries, memory);
  const about = { ...machine(), kubernetes: wantedRelease().version };
  const described = Object.entries(about).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(
    `${described.join(', ')}\n\n${tableOf(summaries)}\n\n${verdictsOf(bounds)}\n`,
  );
  write(options.json, {
    at: new Date().toISOString(),
    machine: about,
    summaries,
    bounds,
    operatorMemoryBytes: memory,
    measurements,
  });
  say(`written to ${options.json}`);
  return bounds.some(({ holds }) => holds === false) ? 1 : 0;
}

async function main(): Promise<number> {
  const options = optionsFrom(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  const controlPlane = await startControlPlane({
    audit: true,
    users: { drain: ['system:masters'] },
  });
  if (controlPlane.kind === 'left-out') throw new Error(`no bench: ${controlPlane.why}`);
  try {
    if (controlPlane.external)
      throw new Error(
        'no bench on the cluster of DRYDOCK_TEST_KUBECONFIG: it has no audit log to count requests with',
      );
    return await bench(controlPlane, options);
  } finally {
    await controlPlane.stop();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
}
