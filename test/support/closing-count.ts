/**
 * A reporter for `.ci/run`. It writes what a red run must say last: the counts, each failure, and the errors
 * that belong to no test. Vitest also fails for those, and for files that do not load, with no test failed.
 */
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

interface Failure {
  message: string;
  stack?: string;
  /** Vitest's guess, for an error that belongs to no test. */
  VITEST_TEST_PATH?: unknown;
}

const STACK_LINES = 12;

function describeFailure(place: string, failures: readonly Failure[]): string[] {
  return failures.map(({ message, stack, VITEST_TEST_PATH: file }) => {
    const lines = (stack ?? message).split('\n').slice(0, STACK_LINES);
    const during = typeof file === 'string' ? `, during ${file}` : '';
    return `FAILED ${place}${during}\n  ${lines.join('\n  ')}`;
  });
}

/** What failed in a file: the file itself (it did not load), its suites (their listeners), and its tests. */
function describeModule(module: TestModule): string[] {
  const lines = describeFailure(module.relativeModuleId, module.errors());
  for (const suite of module.children.allSuites()) {
    lines.push(...describeFailure(`${module.relativeModuleId} > ${suite.fullName}`, suite.errors()));
  }
  for (const test of module.children.allTests('failed')) {
    lines.push(
      ...describeFailure(`${module.relativeModuleId} > ${test.fullName}`, test.result().errors ?? []),
    );
  }
  return lines;
}

export default class ClosingCount implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (modules, errors) => {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const failures = modules.flatMap(describeModule);
    failures.push(...describeFailure('outside of the tests', errors));
    const counts = `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
    const file = process.env['CLOSING_COUNT'];
    if (file !== undefined) writeFileSync(file, [...failures, counts, ''].join('\n'));
  };
}
