/** Vertex's options: the project, the location, and the credentials. */
import { z } from 'zod';
import { readEnvironment } from '../../../core/index.ts';
import { cloudOptions } from '../../shared/cloud/offer.ts';
import { addressSchema } from '../../shared/provider/options.ts';

const accountSchema = z.looseObject({ client_email: z.string(), private_key: z.string() });

export type ServiceAccount = z.output<typeof accountSchema>;

const projectSchema = z.string().regex(/^[\w.:-]+$/, 'the id of a project');
const locationSchema = z.string().regex(/^[a-z0-9-]+$/, 'a location such as global or europe-west1');

export const optionsSchema = z.strictObject({
  /** The project; `GOOGLE_CLOUD_PROJECT` unless given. */
  project: projectSchema.optional(),
  /** `global`, `us`, `eu`, or a region such as `europe-west1`; `GOOGLE_CLOUD_LOCATION` unless given. */
  location: locationSchema.optional(),
  /** Another address than the location's own; `GOOGLE_VERTEX_BASE_URL` unless given. */
  baseUrl: addressSchema.optional(),
  /**
   * A service account's key as Google gives it out, or several; by default `GOOGLE_APPLICATION_CREDENTIALS`,
   * or the identity of the machine.
   */
  credentials: z.union([accountSchema, z.array(accountSchema).min(1)]).optional(),
  ...cloudOptions,
});

type Options = z.output<typeof optionsSchema>;

export interface Place {
  readonly base: string;
  readonly project: string;
  readonly location: string;
}

/** Locations that span several regions have a domain of their own. */
function toHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  return location.includes('-')
    ? `${location}-aiplatform.googleapis.com`
    : `aiplatform.${location}.rep.googleapis.com`;
}

/** Completes the options from the usual variables; undefined if the project or the location is missing. */
export function findPlace(options: Options): Place | undefined {
  const project = options.project ?? readEnvironment('GOOGLE_CLOUD_PROJECT', projectSchema);
  const location = options.location ?? readEnvironment('GOOGLE_CLOUD_LOCATION', locationSchema);
  if (!project || !location) return undefined;
  const base =
    options.baseUrl ??
    readEnvironment('GOOGLE_VERTEX_BASE_URL', addressSchema) ??
    `https://${toHost(location)}`;
  return { base: base.replace(/(?<!\/)\/+$/, ''), project, location };
}
