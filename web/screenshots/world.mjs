// This module fills the store that the pictures show: it runs the examples of this repository with
// their own reply scripts, without a model and without network access.
import {cpSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {parse, stringify} from 'yaml'
import {check, until} from '../specs/lib.mjs'

const examples = new URL('../../examples/', import.meta.url)
const read = file => readFileSync(new URL(file, examples), 'utf8')
const repliesOf = example => parse(read(`${example}/replies.yaml`)).replies

// The second translation is accepted immediately, so that there is something to compare.
const atOnce = [
  {agent: 'translator', text: 'Die Bibliothek ist am Montag geschlossen.', usage: {inputTokens: 58, outputTokens: 8}},
  {
    agent: 'reviewer',
    json: {approved: true, remarks: 'Nothing is missing.'},
    usage: {inputTokens: 88, outputTokens: 7},
  },
  {agent: 'publisher', text: 'Die Bibliothek ist am Montag geschlossen.', usage: {inputTokens: 96, outputTokens: 8}},
]
const pace = (entries, delays) => entries.map((e, i) => ({...e, delayMs: delays[i % delays.length]}))

// repliesTo makes entries reply only to requests that contain a string, since examples share agent
// names. Each run uses the entries again from the first one.
const repliesTo = (contains, entries) => entries.map(e => ({contains, ...e}))

// replies returns the reply script of the whole server. Entries without usage get one, so that the
// pages show the costs of short texts.
const replies = () =>
  [
    ...repliesTo('The town library opens on Sundays', repliesOf('newsroom')),
    ...repliesTo('closed on Monday', pace(atOnce, [180, 150, 80])),
    ...repliesTo('open on Sundays', pace(repliesOf('translation'), [240, 130, 190, 120, 90])),
    ...repliesOf('deploy'),
    ...pace(repliesOf('order'), [60, 110, 80, 70]),
    ...repliesOf('code-review').slice(1),
    ...repliesOf('support-desk').slice(0, 3),
    ...repliesOf('two-stage-review').slice(0, 1),
    ...repliesOf('invoices'),
    ...repliesOf('debate'),
    ...repliesOf('newsdesk').filter(r => r.times === 'always'),
  ].map((r, i) => ({usage: {inputTokens: 80 + ((i * 37) % 90), outputTokens: 9 + ((i * 11) % 30)}, ...r}))

// slow contains a payment whose response never arrives, so that its outcome is unknown, and a
// deployment that is still running while pictures are taken.
const slow = {
  type: 'script',
  shell: {
    transfer: {
      description: 'Transfers money',
      cmd: 'sleep 60',
      args: {to: {type: 'string'}, euros: {type: 'number'}},
      policy: 'ask',
    },
  },
}
const slowly = toolset => {
  if (!toolset.shell?.deploy) return toolset
  toolset.timeout = 600
  toolset.shell.deploy.cmd = `case "$version" in 1.6*) sleep 600;; esac; ${toolset.shell.deploy.cmd}`
  return toolset
}
const payment = `# Pays the gardener. Where the bank does not answer, a person says what became of the payment.
workflow:
  - {id: pay, type: tool, tool: transfer, args: {to: Gardener Huber, euros: 180}, call_timeout: 1s}
  - {type: end, output: paid}
`

// prepare writes the files that the server reads into its folder, and returns the arguments of
// serve.
export function prepare(home) {
  const toolsets = ['deploy', 'support-desk', 'invoices', 'nightly-report'].flatMap(
    e => parse(read(`${e}/tools.yaml`)).toolsets,
  )
  writeFileSync(join(home, 'replies.yaml'), stringify({replies: replies()}))
  writeFileSync(join(home, 'tools.yaml'), stringify({toolsets: [...toolsets.map(slowly), slow]}))
  cpSync(new URL('invoices/inbox', examples), join(home, 'inbox'), {recursive: true})
  return ['--replies', 'replies.yaml', '--tools', 'tools.yaml', '--tz', 'Europe/Berlin']
}

const files = {
  newsroom: 'newsroom/newsroom.yaml',
  translation: 'translation/translation.yaml',
  'code-review': 'code-review/code-review.json',
  'day-trip': 'subagents/subagents.json',
  debate: 'debate/debate.json',
  deploy: 'deploy/deploy.yaml',
  helpdesk: 'helpdesk/helpdesk.json',
  invoices: 'invoices/invoices.yaml',
  newsdesk: 'newsdesk/newsdesk.json',
  'nightly-report': 'nightly-report/nightly-report.yaml',
  research: 'research/research.yaml',
  stock: 'order/stock.yaml',
  payment: 'order/payment.yaml',
  shipping: 'order/shipping.yaml',
  order: 'order/order.yaml',
  'support-desk': 'support-desk/support-desk.yaml',
  'two-stage-review': 'two-stage-review/two-stage-review.yaml',
}

// documentOf returns the text of an example. The workflows it refers to are stored workflows here.
const documentOf = id => read(files[id]).replaceAll(/\.\/(stock|payment|shipping)\.yaml/g, '$1')

// fill creates the workflows and runs, and returns the addresses that the pictures show.
export async function fill(api) {
  for (const id of Object.keys(files)) if (id !== 'newsdesk') await api('/workflows', {id, document: documentOf(id)})
  const newsroom = documentOf('newsroom')
  const tighter = newsroom
    .replace('at most 80 words', 'at most 60 words')
    .replace(
      '  - id: print\n',
      '  - id: gate\n    type: approval\n    prompt: Print it?\n    deadline: 2h\n  - id: print\n',
    )
  check('the draft differs', tighter.includes('60 words') && tighter.includes('gate'))
  await api('/workflows/newsroom', {document: tighter, draft: true}, 'PUT')

  // waitForRun polls a run until a condition holds.
  const waitForRun = async (id, is) => {
    let run
    const right = async () => {
      run = await api(`/runs/${id}`)
      return is(run)
    }
    await until(`the run ${id} gets on`, right, () => [run.workflow.name, run.status, run.error])
    return run
  }
  const resting = id => waitForRun(id, r => r.endedAt || r.status === 'paused')
  const start = async body => resting((await api('/runs', body)).id)
  const run = (workflow, input) => start({workflow, input})
  const must = (r, status) => {
    check(
      `the run of ${r.workflow.name ?? r.workflow.id} is ${status}`,
      r.status === status,
      JSON.stringify([r.status, r.error]),
    )
    return r
  }
  const answer = (r, note) => api(`/runs/${r.id}/resume`, {wait: r.waiting[0].id, decision: 'approve', note})
  const approve = async (r, note) => {
    await answer(r, note)
    return waitForRun(r.id, now => now.endedAt)
  }
  const waitOf = r => `/inbox/${must(r, 'paused').id}/${r.waiting[0].id}`

  const made = {}
  made.newsroom = must(await run('newsroom', 'The town library opens on Sundays'), 'completed').id
  made.translation = must(await run('translation', 'The library is open on Sundays.'), 'completed').id
  made.second = must(await run('translation', 'The library is closed on Monday.'), 'completed').id
  must(await approve(await run('deploy', '1.4.2'), 'tested on staging'), 'completed')
  made.failed = must(await approve(await run('deploy', '1.5.0-rc1'), 'a candidate, watch it'), 'failed').id
  made.order = must(await run('order', '3 lamps'), 'completed').id
  made.approval = waitOf(await run('code-review'))
  made.call = waitOf(await run('support-desk', 'My order 118 came damaged. I want my money back.'))
  const budget = documentOf('support-desk').replace('calls: 12', 'calls: 2')
  made.budget = waitOf(
    await start({document: budget, format: 'steps', name: 'support-desk', input: 'Order 118 came damaged, twice.'}),
  )
  made.question = waitOf(await run('two-stage-review', 'The library opens on Sundays'))
  made.invoices = waitOf(await run('invoices', {folder: 'inbox'}))
  made.map = made.invoices.split('/')[2]
  made.unknown = waitOf(await start({document: payment, format: 'steps', name: 'gardener', input: 'The hedge is cut.'}))
  must(await run('debate', 'The town library should open on Sundays.'), 'completed')
  // its branch without an end starts immediately
  await api('/workflows', {id: 'newsdesk', document: documentOf('newsdesk')})
  await api('/schedules/nightly-report/skip', {}, 'POST')
  const live = await run('deploy', '1.6.0')
  await answer(live, 'after lunch')
  await waitForRun(live.id, r => r.steps.some(x => x.node === 'deploy'))
  made.running = live.id
  return made
}
