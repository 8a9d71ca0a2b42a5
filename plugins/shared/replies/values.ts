/**
 * Schemas of what the gateway replies to operators and key holders. The OpenAPI document shows them, and the
 * console takes its types from them, so they import nothing but zod.
 */
import { z } from 'zod';

export const usd = z.string().meta({ description: 'USD, as a decimal string.' });
export const time = z.iso.datetime();
