/**
 * A process that strips the types of the files it is given, and prints their texts as JSON. In the gateway
 * Node's compiler for this would stay in memory: 40 MB.
 */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

const texts = process.argv.slice(2).map((file) => stripTypeScriptTypes(readFileSync(file, 'utf8')));
process.stdout.write(JSON.stringify(texts));
