/** A file name for documents that came without: OpenAI wants one with each, and knows by its ending what the document is. */
import { documentType } from './data-url.ts';

const office = 'application/vnd.openxmlformats-officedocument.';

const endings: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['application/msword', 'doc'],
  [`${office}wordprocessingml.document`, 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  [`${office}spreadsheetml.sheet`, 'xlsx'],
  ['application/vnd.ms-powerpoint', 'ppt'],
  [`${office}presentationml.presentation`, 'pptx'],
  ['application/vnd.oasis.opendocument.text', 'odt'],
  ['application/rtf', 'rtf'],
  ['application/epub+zip', 'epub'],
  ['application/xml', 'xml'],
]);

/** The ending follows the stated type, or else the beginning of the data; a document of unknown type gets none. */
export function documentName(mediaType: string | undefined, data: string): string {
  const ending = endings.get(mediaType?.toLowerCase() ?? documentType(data) ?? '');
  return ending === undefined ? 'document' : `document.${ending}`;
}
