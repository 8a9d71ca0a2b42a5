/**
 * Credentials that expire, and the packages that fetch them. A credential is fetched when it is first needed,
 * shared by all calls that need it meanwhile, and renewed in the background some minutes before its end, so
 * that no call waits for that. Errors only hold names and numbers: the libraries' own errors hold the
 * requests they made, and those hold secrets.
 */
import { GatewayError, isGatewayError, type Provider } from '../../../core/index.ts';

export interface Fetched<Value> {
  readonly value: Value;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

const minute = 60_000;
/** With less left than the first a credential is renewed; with less than the second it is not used. */
const renewed = 4 * minute;
const unusable = 10_000;
/** How long to wait after a renewal in the background has failed. */
const rest = 5000;
/** Milliseconds that a renewal may take. */
const longestRenewal = 20_000;

const harmless = /^[\w.-]{1,60}$/;

/** An error's name, code and status, and the word that its message begins with (`invalid_grant: …`). */
function describeCause(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  const status: unknown = Reflect.get(thrown, 'status') ?? Reflect.get(thrown, 'statusCode');
  const words = [thrown.name, Reflect.get(thrown, 'code'), status, /^[a-z_]+(?=:)/.exec(thrown.message)?.[0]];
  return [
    ...new Set(
      words.flatMap((word) => (word !== undefined && harmless.test(String(word)) ? [String(word)] : [])),
    ),
  ].join(' ');
}

function buildSignInError(provider: string, thrown: unknown): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  return new GatewayError('upstream_failed', `The gateway could not sign in to the provider "${provider}".`, {
    cause: describeCause(thrown),
  });
}

export class ExpiringCredential<Value> {
  readonly #provider: string;
  readonly #fetch: () => Promise<Fetched<Value>>;
  #current: Fetched<Value> | undefined;
  #renewal: Promise<Value> | undefined;
  #restUntil = 0;

  constructor(provider: string, fetch: () => Promise<Fetched<Value>>) {
    this.#provider = provider;
    this.#fetch = fetch;
  }

  /** A valid credential. If there is none, rejects with an error that a client may see. */
  get(): Value | Promise<Value> {
    const current = this.#current;
    const now = Date.now();
    const left = current ? current.expires - now : 0;
    if (current && left > renewed) return current.value;
    if (!current || left <= unusable) return this.#renew();
    if (now >= this.#restUntil) this.#renew().catch(() => (this.#restUntil = Date.now() + rest));
    return current.value;
  }

  /** Drops the credential, which the vendor has refused: the next call gets another. */
  forget(): void {
    this.#current = undefined;
  }

  #renew(): Promise<Value> {
    this.#renewal ??= this.#fetchInTime().finally(() => (this.#renewal = undefined));
    return this.#renewal;
  }

  async #fetchInTime(): Promise<Value> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('timeout: no answer')), longestRenewal);
    });
    try {
      this.#current = await Promise.race([this.#fetch(), late]);
      return this.#current.value;
    } catch (error) {
      throw buildSignInError(this.#provider, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Signs calls with headers that expire. Headers that the vendor refuses are not shown again. */
export function signWith(
  shown: ExpiringCredential<Readonly<Record<string, string>>>,
): Pick<Provider, 'sign' | 'unwrap'> {
  return {
    sign: async (request) => ({ ...request, headers: { ...request.headers, ...(await shown.get()) } }),
    unwrap(response) {
      if (response.status === 401) shown.forget();
      return response;
    },
  };
}

/** Loads what `load` imports. If the package is missing, throws an error that says how to install it. */
export async function loadOptional<Module>(
  provider: string,
  name: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const isMissing =
      error instanceof Error &&
      'code' in error &&
      error.code === 'ERR_MODULE_NOT_FOUND' &&
      error.message.includes(`'${name}'`);
    if (isMissing)
      throw new GatewayError(
        'upstream_failed',
        `The provider "${provider}" needs the package "${name}": npm install ${name}`,
        { cause: error },
      );
    throw error;
  }
}
