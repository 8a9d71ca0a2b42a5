/** The admin API of price updates: list them, confirm one that was held back, undo one. */
import { z } from 'zod';
import type { Route, RouteReply } from '../../../core/index.ts';
import { errors, json, read } from '../../shared/operator-routes.ts';
import type { PriceWork } from './price-commands.ts';
import { confirmUpdate, listUpdates, showUpdate, undoUpdate } from './price-updates.ts';

const number = z.object({ update: z.coerce.number().int().positive() });

export function priceRoutes({ use }: PriceWork, changed: () => void): Route[] {
  const shared = { access: 'operator', errors } as const;
  const edit =
    (change: typeof confirmUpdate): Route['handle'] =>
    async ({ params }, { key }: { readonly key: string }): Promise<RouteReply> => {
      const { update } = read(number, params);
      const done = await use((documents) => change(documents, update, `key ${key}`));
      changed();
      return json(showUpdate(done));
    };
  return [
    {
      ...shared,
      name: 'prices',
      method: 'GET',
      path: '/admin/prices',
      openapi: async () => (await import('./price-description.ts')).updates,
      handle: async () => json({ data: await use(listUpdates) }),
    },
    {
      ...shared,
      name: 'confirm-prices',
      method: 'POST',
      path: '/admin/prices/:update/confirm',
      openapi: async () => (await import('./price-description.ts')).confirmed,
      handle: edit(confirmUpdate),
    },
    {
      ...shared,
      name: 'undo-prices',
      method: 'POST',
      path: '/admin/prices/:update/undo',
      openapi: async () => (await import('./price-description.ts')).undone,
      handle: edit(undoUpdate),
    },
  ];
}
