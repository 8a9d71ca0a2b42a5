/** The log of what operators changed. */
import { userInfo } from 'node:os';
import { z } from 'zod';
import type { RouteRequest } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { formatTable } from '../../../shared/table.ts';
import type { Action } from '../store.ts';
import { defineOperation } from './operation.ts';
import { buildNumberSchema } from './reading.ts';
import { toIso, buildPage } from './replies.ts';

/** Characters of a body or of options that are stored. */
const longestDetail = 4000;

/** Orders hold no secrets: the gateway creates the secrets of keys, and shows them only in the reply. */
function shortenDetail(detail: unknown): string {
  return (JSON.stringify(detail) ?? '{}').slice(0, longestDetail);
}

export function buildRouteAction(author: string, route: string, { params, body }: RouteRequest): Action {
  const subject = Object.values(params).join(' ');
  return { at: Date.now(), author, action: route, subject, detail: shortenDetail(body) };
}

/** The user who runs a command, by number if the system has no name for it, as in some containers. */
export function findCommandAuthor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}

export function buildVerbAction(
  author: string,
  verb: string,
  args: readonly string[],
  options: Readonly<Record<string, unknown>>,
): Action {
  const [action = verb] = verb.split(/ [<[]/);
  return { at: Date.now(), author, action, subject: args.join(' '), detail: shortenDetail(options) };
}

export const actionOperations = [
  defineOperation({
    route: 'GET /admin/actions',
    summary: 'List what operators changed, newest first',
    roles: roles.read,
    input: z.strictObject({
      before: buildNumberSchema(1).optional(),
      limit: buildNumberSchema(1, 1000).default(100),
    }),
    async run({ store }, query) {
      const actions = await store.listActions(query);
      return buildPage(
        actions,
        query.limit,
        ({ at, ...action }) => ({ ...action, at: toIso(at) }),
        ({ number }) => number,
      );
    },
    verbs: {
      'actions list': {
        flags: { '--limit <count>': 'how many (100 unless given)' },
        format: ({ data }) =>
          data.length > 0
            ? formatTable(
                ['AT', 'AUTHOR', 'ACTION', 'SUBJECT', 'DETAIL'],
                data.map(({ at, author, action, subject, detail }) => [at, author, action, subject, detail]),
              )
            : 'There are no actions.',
      },
    },
  }),
];
