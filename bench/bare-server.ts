import Fastify from 'fastify';
import pg from 'pg';
import { newId } from '../server/platform/ids.ts';

/**
 * The bare server for comparison: the same framework, driver, database and pool, with one statement for each call. It has no
 * authentication, no validation and no error handling.
 */

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.SVC_DATABASE_POOL) });
const app = Fastify();

const columns =
  'id, email, first_name, last_name, phone, company, shipping_address, tags, metadata, updated_at, deleted_at';

interface CustomerBody {
  email: string;
  first_name: string;
  last_name: string;
  phone: string;
  company?: string;
  shipping_address?: object;
  tags: string[];
  metadata: object;
}

app.post('/v1/customers', async (request, reply) => {
  const body = request.body as CustomerBody;
  const nowMs = Date.now();
  const { rows } = await pool.query({
    name: 'insert customer',
    text: `INSERT INTO bare_customers (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL) RETURNING *`,
    values: [
      newId(nowMs),
      body.email,
      body.first_name,
      body.last_name,
      body.phone,
      body.company,
      body.shipping_address,
      body.tags,
      body.metadata,
      new Date(nowMs),
    ],
  });
  return reply.code(201).send(rows[0]);
});

app.get('/v1/customers/:id', async (request) => {
  const { id } = request.params as { id: string };
  const text = `SELECT ${columns} FROM bare_customers WHERE id = $1`;
  const { rows } = await pool.query({ name: 'read customer', text, values: [id] });
  return rows[0];
});

app.get('/v1/customers', async () => {
  const text = `SELECT ${columns} FROM bare_customers ORDER BY id DESC LIMIT 10`;
  const { rows } = await pool.query({ name: 'list customers', text });
  return { data: rows };
});

const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`{"attributes":{"url.full":"${url}"},"body":"ready"}\n`);
