/**
 * Makes the bare name `tollgate` mean the copy that runs, in whatever a configuration imports: a plugin package works
 * the same beside a clone and beside an install, whichever copy its own folder holds, and there is one core.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { checkPeer } from './peers.ts';

const here = import.meta.url;
const extension = here.endsWith('.ts') ? '.ts' : '.js';
/** The project's folder, or `dist` where the package is published. */
const root = new URL('../', here);

/** Where the package keeps what it exports under this name; the same rules as `exports` in package.json. */
function exported(name: string): URL | undefined {
  if (name === '') return new URL(`core/index${extension}`, root);
  if (name === '/testing') return new URL(`test/contract/index${extension}`, root);
  const plugin = /^\/(plugins\/[\w./-]+)$/.exec(name)?.[1];
  if (plugin === undefined) return undefined;
  const file = new URL(plugin + extension, root);
  return existsSync(file) ? file : new URL(`${plugin}/index${extension}`, root);
}

let registered = false;

/** From now on; once is enough for a process. */
export function meanRunningCopy(): void {
  if (registered) return;
  registered = true;
  registerHooks({
    resolve(specifier, context, next) {
      const name = /^tollgate(?=$|\/)/.test(specifier) ? exported(specifier.slice('tollgate'.length)) : undefined;
      if (!name) return next(specifier, context);
      checkPeer(context.parentURL);
      return next(name.href, context);
    },
  });
}
