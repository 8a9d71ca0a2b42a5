/**
 * Asks the identity provider about each person at least hourly. If it no longer knows one, or no role is
 * left for them, their sessions end and their keys are suspended; the same happens if an operator removes
 * them. Who signs in again gets the keys back.
 */
import { getMessage, type Host, type PeopleKeys } from '../../../core/index.ts';
import type { KeyRing } from '../../shared/key-ring.ts';
import { describePerson, type Options } from './options.ts';
import type { Known, People, PersonRow } from './people.ts';
import type { Identity, Provider } from './provider.ts';

/** What all parts of sign-in work with. */
export interface SignIn {
  readonly options: Options;
  readonly provider: Provider;
  readonly logger: Host['logger'];
  readonly routes: Host['routes'];
  /** These three exist once the gateway is ready. */
  readonly people: People;
  readonly ring: KeyRing;
  readonly keys: PeopleKeys;
}

const minute = 60_000;
export const hour = 60 * minute;
/** Milliseconds after which a person is asked about again: early enough for some attempts within the hour. */
const fresh = 50 * minute;
const every = 15_000;
const perTurn = 50;
/** The author of what no person did. */
const author = 'sign-in';

const purpose = 'refresh token';
function sealRefresh({ ring }: SignIn, id: string, text: string): string {
  return ring.sealText(purpose, id, Buffer.from(text));
}

/** Who somebody is here, with the refresh token sealed. Undefined if no role is theirs. */
export function identify(signIn: SignIn, identity: Identity): Known | undefined {
  return describePerson(signIn.options, identity, (id, text) => sealRefresh(signIn, id, text));
}

/** Brings the keys of a person in line with their state. */
export async function settle({ people, keys }: SignIn, person: PersonRow): Promise<void> {
  const { id, holder, state, suspended } = person;
  if (state === 'active' && suspended) {
    await keys.resume(holder, suspended, person.author);
    await people.setSuspended(id, null);
  } else if (state !== 'active' && !suspended)
    await people.setSuspended(id, await keys.suspend(holder, person.author));
}

/** Ends what a person has, because the identity provider refuses them. */
async function lockOut(signIn: SignIn, person: PersonRow): Promise<void> {
  const { id, holder } = person;
  await signIn.people.setState(id, 'refused', author);
  signIn.logger.warn({ person: holder }, 'the identity provider refuses a person: their keys are suspended');
  await settle(signIn, { ...person, state: 'refused', author });
}

/** Whether the identity provider knew a person an hour ago at most. Throws if it cannot be asked. */
export async function isKnown(signIn: SignIn, { id, checked, refresh }: PersonRow): Promise<boolean> {
  const { people, provider, ring } = signIn;
  if (refresh === null) return Date.now() - checked < hour;
  if (Date.now() - checked < fresh) return true;
  const claimed = await people.claim(id, minute);
  // Another process asks at the moment.
  if (!claimed?.refresh) return Date.now() - checked < hour + minute;
  const opened = ring.openText(purpose, id, claimed.refresh);
  const identity = opened && (await provider.renew(opened.toString(), claimed.subject));
  if (identity && !identity.claims) {
    await people.noteCheck(id, identity.refresh && sealRefresh(signIn, id, identity.refresh));
    return true;
  }
  const known = identity && identify(signIn, identity);
  if (known) return (await people.admit(known)) !== undefined;
  await lockOut(signIn, claimed);
  return false;
}

async function checkDue(signIn: SignIn): Promise<void> {
  const { people, logger } = signIn;
  for (const person of await people.listUnsettled(perTurn)) await settle(signIn, person);
  await people.sweep();
  for (let isMore = true; isMore;) {
    const now = Date.now();
    const due = await people.listDue(now - fresh, now - minute, perTurn);
    isMore = due.length === perTurn;
    for (const person of due)
      try {
        await isKnown(signIn, person);
      } catch (error) {
        // The others would wait for the same.
        logger.warn({ error }, `people could not be checked: ${getMessage(error)}`);
        return;
      }
  }
}

/** Checks the people who are due, every 15 seconds. The function that it returns stops it. */
export function keepChecking(signIn: SignIn): () => void {
  let running: Promise<void> | undefined;
  const check = (): void => {
    running ??= checkDue(signIn)
      .catch((error: unknown) => signIn.logger.warn({ error }, 'people could not be checked'))
      .finally(() => (running = undefined));
  };
  const timer = setInterval(check, every).unref();
  return () => clearInterval(timer);
}
