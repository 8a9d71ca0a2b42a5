/** The contract of families, for each wire of embeddings with a vendor as strict as the real one. */
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { testFamily } from '../contract/family.ts';
import { clients } from './clients.ts';
import { vendors } from './vendors.ts';

testFamily({ plugin: embeddings(), clients, vendors });
