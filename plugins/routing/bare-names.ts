/**
 * Model names without an owner, as existing applications send them: `gpt-4o`, `claude-sonnet-4-5-20250929`. A
 * name counts if the models that have it belong to one owner; otherwise the 404 lists their ids. A dated
 * name that the catalogue does not have means the model without the date.
 */
import { z } from 'zod';
import { definePlugin, type Catalog } from '../../core/index.ts';

/** `-2025-04-14`, `-20250929`, `@20250929`, `-latest`. */
const dated = /^(.+)[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|latest)$/;

function getOwner(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

function omitOwner(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

/** The ids of models by their names without an owner, and by all their other names. */
class Index {
  readonly #byName = new Map<string, Set<string>>();
  readonly #byOtherName = new Map<string, Set<string>>();

  constructor(catalog: Catalog) {
    for (const { id, aliases, canonicalSlug, upstream } of catalog.listModels()) {
      add(this.#byName, omitOwner(id), id);
      for (const alias of [...aliases, ...(canonicalSlug ? [canonicalSlug] : [])])
        add(this.#byOtherName, omitOwner(alias), id);
      // The vendor's own name is the one that its clients send.
      add(this.#byOtherName, upstream, id);
    }
  }

  /** The model that has the name, or one of each owner if there are several. */
  find(name: string): readonly string[] {
    const ids = [...(this.#byName.get(name) ?? this.#byOtherName.get(name) ?? [])];
    return [...new Map(ids.toReversed().map((id) => [getOwner(id), id])).values()].toReversed();
  }
}

function add(names: Map<string, Set<string>>, name: string, id: string): void {
  const ids = names.get(name);
  if (ids) ids.add(id);
  else names.set(name, new Set([id]));
}

export const bareNames = definePlugin({
  name: 'bare-names',
  options: z.strictObject({
    /** Whether a dated name means the model without the date if the catalogue has no such date. */
    dated: z.boolean().default(true),
  }),
  apply({ catalog }, options) {
    let index: Index | undefined;
    let indexed = 0;
    catalog.addNames((name) => {
      const { version } = catalog;
      if (!index || version !== indexed) [index, indexed] = [new Index(catalog), version];
      const found = index.find(name);
      const [, undated] = (found.length === 0 && options.dated && dated.exec(name)) || [];
      // With its owner it is an id, which the catalogue finds itself.
      if (undated === undefined) return found;
      return undated.includes('/') ? [undated] : index.find(undated);
    });
  },
});
