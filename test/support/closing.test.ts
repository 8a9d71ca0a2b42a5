/** What closes what tests open, and when: a leak would keep a test file from ending, or slow the next one. */
import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { closeInTime } from './closing.ts';
import { serve } from './serve.ts';

const closed: string[] = [];
const open = (name: string): (() => Promise<void>) => closeInTime(async () => void closed.push(name));

describe('what a hook opened', () => {
  beforeAll(() => void open('by the hook'));

  it('stays open while a test runs, and what the test opened, too', async () => {
    open('first');
    open('second');
    const early = open('early');
    await early();
    await early();
    expect(closed).toEqual(['early']);
  });

  it('stays open after a test, whose own is closed by then, the last first and each once', () => {
    expect(closed).toEqual(['early', 'second', 'first']);
  });
});

describe('a server that a test opened', () => {
  let origin = '';

  it('answers until the test ends', async () => {
    ({ origin } = await serve(createServer((_, response) => void response.end('here'))));
    expect(await (await fetch(origin)).text()).toBe('here');
  });

  it('is gone in the next test', async () => {
    await expect(fetch(origin)).rejects.toThrow('fetch failed');
  });
});

it('what a hook opened stays open in every test of the file', () => {
  expect(closed).not.toContain('by the hook');
});
