/**
 * The options of sign-in, and what they make of the claims of a person: a role by groups or roles at the
 * identity provider, and accounts by groups. Both are read again at every sign-in and renewal.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { allowReference } from '../../../core/index.ts';
import { roleNames, type Role } from '../../shared/operations.ts';
import type { Known } from './people.ts';
import type { Claims, Identity } from './provider.ts';

export function isLoopback(url: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/|$)/.test(url);
}

const address = z
  .url({ protocol: /^https?$/ })
  .refine(
    (url) => url.startsWith('https:') || isLoopback(url),
    'has to begin with https://, except on loopback',
  );

/** The address of a listener, without a path. */
const origin = address
  .refine((url) => new URL(url).origin === url.replace(/\/$/, ''), 'has to be an origin, without a path')
  .transform((url) => new URL(url).origin);

const role = z.enum(roleNames);
const accountName = z.string().regex(/^[\w.@:+-]{1,128}$/, 'has to be the name of an account');

export const options = z.strictObject({
  /** The identity provider, as its discovery document names it. */
  issuer: address,
  clientId: z.string().min(1),
  clientSecret: allowReference(z.string().min(1)),
  /** Where browsers and devices reach the public listener. */
  publicUrl: origin,
  /** Where browsers reach the admin listener; without it people cannot sign in to the console. */
  consoleUrl: origin.optional(),
  /** The role of people by what the claim of roles has. If several match, the most powerful counts. */
  roles: z.record(z.string(), role).default({}),
  /** The role of people whom `roles` names nothing for; unless given they cannot sign in. */
  role: role.optional(),
  /** The accounts of people by what the claim of groups has. */
  groups: z.record(z.string(), accountName).default({}),
  /** The account of people whom `groups` names nothing for. */
  account: accountName.optional(),
  /** Which claims have roles, groups and names. Dots lead into objects: `realm_access.roles`. */
  claims: z
    .strictObject({
      roles: z.string().min(1).default('groups'),
      groups: z.string().min(1).default('groups'),
      name: z.string().min(1).default('email'),
    })
    .prefault({}),
  /** What is asked for. Without `offline_access` many identity providers give no refresh token. */
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/))
    .default(['openid', 'profile', 'email', 'offline_access'])
    .refine((scopes) => scopes.includes('openid'), 'has to have "openid"'),
  /** More parameters of the address where browsers sign in: `{ access_type: 'offline' }`. */
  parameters: z.record(z.string(), z.string()).default({}),
  /** Hours after which people sign in again: in a browser, and on a device. */
  session: z.number().positive().max(720).default(12),
  deviceSession: z.number().positive().max(8760).default(720),
  /** A line that Claude Code shows beside the code of a device. */
  notice: z.string().max(500).optional(),
});
export type Options = z.output<typeof options>;

/** A claim by its name, or else by the way to it. */
function getClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (found, part) =>
        typeof found === 'object' && found !== null && Object.hasOwn(found, part)
          ? Object.entries(found).find(([key]) => key === part)?.[1]
          : undefined,
      claims,
    );
}

/** The texts of a claim, which may be one or a list. */
function listTexts(claim: unknown): string[] {
  return [claim].flat().filter((each) => typeof each === 'string');
}

const longestName = 150;

/** Names an operator can read, and nothing else: they are written into logs. */
function readName(claims: Claims, name: string, subject: string): string {
  const { email_verified: isVerified, preferred_username: username } = claims;
  const stated = name === 'email' && isVerified === false ? undefined : getClaim(claims, name);
  const [found = subject] = [stated, username, subject].flatMap(listTexts);
  return found.replaceAll(/[^\x20-\x7E\u00A1-\uFFFF]/g, '').slice(0, longestName);
}

/** What the texts of a claim stand for, as far as the options say. */
function listMeanings<Meaning>(claim: unknown, meanings: Readonly<Record<string, Meaning>>): Meaning[] {
  const texts = new Set(listTexts(claim));
  return Object.entries(meanings).flatMap(([text, meaning]) => (texts.has(text) ? [meaning] : []));
}

function chooseRole({ roles, role, claims: names }: Options, claims: Claims): Role | undefined {
  const found = listMeanings(getClaim(claims, names.roles), roles);
  return roleNames.find((each) => found.includes(each)) ?? role;
}

function listAccounts({ groups, account, claims: names }: Options, claims: Claims): string[] {
  const found = new Set(listMeanings(getClaim(claims, names.groups), groups));
  return found.size > 0 ? [...found] : [account].flatMap((each) => each ?? []);
}

/** A person's id here: the same subject at another issuer is another person. */
export function toPersonId(issuer: string, subject: string): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, 32);
}

/** Who somebody is here. Undefined if no role is theirs. `seal` seals the refresh token. */
export function describePerson(
  options: Options,
  { claims = {}, subject, refresh }: Identity,
  seal: (id: string, text: string) => string,
): Known | undefined {
  const found = chooseRole(options, claims);
  if (found === undefined) return undefined;
  const id = toPersonId(options.issuer, subject);
  const name = readName(claims, options.claims.name, subject);
  return {
    id,
    subject,
    name,
    // Names can change, and two people may have the same; the holder of a key has to be one.
    holder: `${name}#${id.slice(0, 12)}`,
    role: found,
    accounts: listAccounts(options, claims),
    refresh: refresh === null ? null : seal(id, refresh),
  };
}
