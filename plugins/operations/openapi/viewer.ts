/**
 * The description in a browser, where calls can be tried: Swagger UI, served from `node_modules` and from
 * nowhere else. Its files are read from disk for each request, since few people look. The page may not load
 * anything from other hosts.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { GatewayError, type RouteReply } from '../../../core/index.ts';
import { buildPageHeaders } from '../../shared/page-headers.ts';

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tollgate</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<div id="description"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/**
 * The settings keep the page from asking another host's validator, and from keeping typed keys when it is
 * closed.
 */
const start = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#description',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const own: Readonly<Record<string, readonly [type: string, text: string]>> = {
  'index.html': ['text/html; charset=utf-8', page],
  'start.js': ['text/javascript; charset=utf-8', start],
};

const foreign: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** The folder of Swagger UI. Throws if it is not installed. */
function requireFolder(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  } catch (cause) {
    throw new GatewayError(
      'not_found',
      'The viewer is not installed: run `npm install swagger-ui-dist`. ' +
        'The description itself is at /openapi.json.',
      { cause },
    );
  }
}

/** Serves one file of the page, by its name. */
export async function serveFile(name: string): Promise<RouteReply> {
  const folder = requireFolder();
  const [ownType, text] = (Object.hasOwn(own, name) ? own[name] : undefined) ?? [];
  if (ownType !== undefined)
    return { status: 200, headers: { ...buildPageHeaders(), 'content-type': ownType }, body: text };
  const type = Object.hasOwn(foreign, name) ? foreign[name] : undefined;
  if (type === undefined)
    throw new GatewayError('not_found', `The viewer has no file "${name.slice(0, 100)}".`);
  return {
    status: 200,
    headers: { ...buildPageHeaders(), 'content-type': type },
    body: await readFile(join(folder, name)),
  };
}
