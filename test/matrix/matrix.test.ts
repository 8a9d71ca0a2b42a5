/** Every capability between every client and every wire, as it really is; what is checked in is the floor. */
import { beforeAll, expect, it } from 'vitest';
import { wires } from '../support/four-wires.ts';
import { capabilities } from './capabilities.ts';
import { applies, mustWork } from './judge.ts';
import { measure, readMatrix, readReadme, insertTable, type Measured } from './matrix.ts';

const floor = readMatrix();
let measured: Measured;
beforeAll(async () => {
  measured = await measure();
});

it('the matrix finds nothing that is lost in silence', () => {
  expect(measured.broken).toEqual([]);
});

it.each(capabilities.map((capability) => [capability.name, capability] as const))(
  'the matrix %s is what is written down',
  (name) => {
    expect(measured.matrix[name], 'run `npm run matrix` and read what changed').toEqual(floor[name]);
  },
);

it('the matrix is written down for nothing else', () => {
  expect(Object.keys(floor)).toEqual(capabilities.map(({ name }) => name));
});

it('the matrix says "works" wherever both sides have a word for it', () => {
  const short = capabilities.flatMap((capability) =>
    wires.flatMap((client) =>
      wires
        .filter(
          (wire) =>
            applies(capability, client, wire) &&
            mustWork(capability, client, wire) &&
            floor[capability.name]?.[client]?.[wire] !== 'works',
        )
        .map(
          (wire) => `${capability.name}, ${client} to ${wire}: ${floor[capability.name]?.[client]?.[wire]}`,
        ),
    ),
  );
  expect(short).toEqual([]);
});

it('the matrix is what the README shows', () => {
  expect(readReadme()).toBe(insertTable(readReadme(), floor));
});
