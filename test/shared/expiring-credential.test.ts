import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExpiringCredential } from '../../plugins/shared/cloud/credential.ts';
import { loadOptional } from '../../plugins/shared/cloud/credential.ts';

const hour = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => vi.useRealTimers());

/** A credential of one hour, numbered. */
function createCredential(): {
  readonly credential: ExpiringCredential<number>;
  fetches: number;
  fails: unknown;
} {
  const state = { fetches: 0, fails: undefined as unknown };
  const credential = new ExpiringCredential('house', async () => {
    state.fetches += 1;
    if (state.fails) throw state.fails;
    return { value: state.fetches, expires: Date.now() + hour };
  });
  return Object.assign(state, { credential });
}

describe('a credential that expires', () => {
  it('is fetched once for simultaneous calls, and then used without waiting', async () => {
    const state = createCredential();
    expect(await Promise.all([state.credential.get(), state.credential.get()])).toEqual([1, 1]);
    expect(state.credential.get()).toBe(1);
  });

  it('is renewed in the background before it expires', async () => {
    const { credential } = createCredential();
    await credential.get();
    vi.setSystemTime(hour - 240_000);
    expect(credential.get()).toBe(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(credential.get()).toBe(2);
  });

  it('stays in use until it expires if its renewal fails, which not every call retries', async () => {
    const state = createCredential();
    await state.credential.get();
    state.fails = new Error('away');
    vi.setSystemTime(hour - 200_000);
    for (let call = 0; call < 10; call += 1) {
      expect(state.credential.get()).toBe(1);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(state.fetches).toBe(2);
    vi.setSystemTime(hour - 5000);
    await expect(async () => state.credential.get()).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  it('is fetched again after it was refused', async () => {
    const { credential } = createCredential();
    await credential.get();
    credential.forget();
    expect(await credential.get()).toBe(2);
  });

  it('is not waited for without end', async () => {
    const never = new ExpiringCredential<string>('house', () => new Promise(() => undefined));
    const pending = expect(Promise.resolve(never.get())).rejects.toMatchObject({
      code: 'upstream_failed',
      details: { cause: 'Error timeout' },
    });
    await vi.advanceTimersByTimeAsync(20_000);
    await pending;
  });

  it('that cannot be fetched is reported by names and numbers alone', async () => {
    const state = createCredential();
    state.fails = Object.assign(new Error('invalid_grant: assertion=eyJhbGciOi.secret'), {
      name: 'GaxiosError',
      code: '400',
      status: 400,
      config: { data: 'secret' },
    });
    await expect(Promise.resolve(state.credential.get())).rejects.toMatchObject({
      message: 'The gateway could not sign in to the provider "house".',
      details: { cause: 'GaxiosError 400 invalid_grant' },
    });
  });
});

it('an optional package that is not installed is named, with the command to install it', async () => {
  const missing = 'a-missing-package';
  await expect(loadOptional('house', missing, () => import(missing))).rejects.toMatchObject({
    code: 'upstream_failed',
    message: 'The provider "house" needs the package "a-missing-package": npm install a-missing-package',
  });
});

it('an optional package that is broken is not reported as missing', async () => {
  await expect(loadOptional('house', 'p', () => Promise.reject(new SyntaxError('broken')))).rejects.toThrow(
    SyntaxError,
  );
});
