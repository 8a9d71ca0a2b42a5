/** Hooks as plugins tap them, and what they log. */
import { pino } from 'pino';
import { beforeEach } from 'vitest';
import { createHooks, type CoreHooks, type Hooks } from '../../core/hooks.ts';
import { wrapHooks } from '../../core/host/taps.ts';

export let core: CoreHooks;
export let hooks: Hooks;
export let log: string[];
/** Makes hooks and a log for each test of a file. */
export function useHooks(): void {
  beforeEach(() => {
    core = createHooks();
    log = [];
    hooks = wrapHooks(core, pino({ errorKey: 'error' }, { write: (line: string) => void log.push(line) }));
  });
}

/** What a plugin in plain JavaScript may get wrong, past the types. */
export function eraseType(value: unknown): never {
  return value as never;
}
