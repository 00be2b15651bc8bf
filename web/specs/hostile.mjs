// Every field that the page shows contains hostile text (SEC15). Nothing is executed,
// no request is sent to another origin, and the page stays usable: behind a proxy that removes the
// policy, and with the policy, there at every eighth place, or at every place with make test-all.
import {caller, check, ended, isLong, settled, signIn, withPages} from './lib.mjs'
import {model} from './model.mjs'
import {poisoned} from './poison.mjs'
import {proxy} from './proxy.mjs'
import {serve} from './server.mjs'

const attacks = [
  '<script>window.canary=1</script>',
  '<img src=x onerror="window.canary=1">',
  '<svg onload="window.canary=1"><a href="javascript:window.canary=1">x</a></svg>',
  '![x](https://evil.example/x.png) [y](javascript:window.canary=1) https://evil.example/',
  '"><iframe srcdoc="<script>parent.canary=1</script>"></iframe>',
  '\u202egnp.exe\u202c \u200b\u2066hidden\u2069\u0007',
  '${window.canary=1}',
]
const payload = attacks.join(' ')
// Payloads that are too long for a name, or contain characters that a name may not have, are also
// tried in a shorter form.
const payloads = [payload, ...attacks, '<b onclick=window.canary=1>x<b>']

const quote = text => JSON.stringify(text)
const letter = `labels: {team: ${quote('<b>x</b>')}}
agents:
  writer: {model: openai/m, instruction: ${quote(payload)}, toolsets: [{type: think}]}
workflow:
  - {id: ${quote('<b onclick=window.canary=1>x<b>')}, type: agent, name: writer}
  - {id: one, type: set, values: {text: "{{ $input }}", same: ${quote(payload)}, ${quote(payload)}: key}}
  - {id: ok, type: approval, prompt: ${quote(`${payload} {{ $input }}`)}}
  - {type: end, output: "{{ $steps.one.output }}"}
`
const form = `workflow:
  - id: form
    type: ask
    prompt: ${quote(payload)}
    schema:
      type: object
      required: [a]
      properties:
        a: {type: string, title: ${quote(payload)}, description: ${quote(payload)}, enum: [${quote(payload)}, other]}
        ${quote(payload)}: {type: string, default: ${quote(payload)}}
  - {type: end, output: "{{ $steps.form.output }}"}
`
const held = `permissions: {ask: [think], edit: [think]}
toolsets: [{type: think}]
workflow:
  - {id: note, type: tool, tool: think, args: {thought: ${quote(payload)}}}
  - {type: end, output: "{{ $steps.note.output }}"}
`
const ends = `workflow:
  - {type: end, status: failed, message: ${quote(payload)}}
`
const asks = instruction => `agents:
  writer: {model: openai/m, instruction: ${instruction}}
workflow:
  - {id: write, type: agent, name: writer}
`

// nestings returns JSON text with the given nesting depth.
const nestings = n => '['.repeat(n) + ']'.repeat(n)

// fill creates the data that the page shows, and returns the paths that show it.
async function fill(api, origin) {
  const start = (document, input, more = {}) =>
    api('/runs?wait=30s', {document, format: 'steps', name: payload.slice(0, 190), input, ...more})
  const first = await start(letter, payload, {labels: {team: attacks[1]}, session: payload.slice(0, 200)})
  check('the run waits', first.status === 'paused', JSON.stringify(first.error))
  const runs = [first]
  for (const [document, input] of [
    [form, payload],
    [held, payload],
    [ends, payload],
    [asks('fails'), payload],
    [asks('long'), payload],
    [asks('deep'), payload],
    [letter, 'x'.repeat(1_000_000)],
    [letter, nestings(10_000)],
  ])
    runs.push(await start(document, input))
  const waits = (await api('/waits')).items
  check('runs wait', waits.length === 5, String(waits.length))

  // Some payloads are names of people and their answers.
  const {token} = await api('/tokens', {name: attacks[1], role: 'admin', approve: true})
  const someone = caller(origin, token)
  const answered = await start(letter, 'x')
  await someone(`/runs/${answered.id}/resume?wait=30s`, {
    wait: answered.waiting[0].id,
    decision: 'approve',
    note: payload,
  })
  check('the answered run ends', (await ended(api, answered.id)).status === 'completed')
  const stopped = await start(letter, 'x')
  await someone(`/runs/${stopped.id}/cancel`, {reason: payload})
  await ended(api, stopped.id)
  runs.push(answered, stopped)
  for (const [i, name] of attacks.entries())
    await api('/agents', {id: `agent${i}`, name, description: payload, systemPrompt: payload, model: 'openai/m'})

  const paths = [
    '/',
    '/runs',
    `/runs?q=canary&workflow=${encodeURIComponent(payload)}`,
    '/inbox',
    '/workflows',
    `/workflows?label=${encodeURIComponent(payload)}`,
    '/schedules',
  ]
  for (const [format, {document, kept}] of Object.entries(await poisoned(api, payloads))) {
    console.error(`${format}: texts that may not be any text: ${kept.join(' ')}`)
    await api('/workflows', {id: `all-${format}`, document, format})
    await api(`/workflows/all-${format}`, {document: `${document}\n`, format, draft: true}, 'PUT')
    paths.push(`/workflows/all-${format}`, `/workflows/all-${format}/versions`)
    for (const pane of ['text', 'drawing', 'problems', 'canvas'])
      paths.push(`/workflows/all-${format}/edit?pane=${pane}`)
  }
  paths.push(
    `/runs/${runs[0].id}/compare/${answered.id}?row=one+1`,
    `/runs/${encodeURIComponent(payload)}`,
    `/workflows/${encodeURIComponent(payload)}`,
  )
  for (const w of waits) paths.push(`/inbox/${w.run}/${w.id}`)
  for (const r of [answered, stopped]) paths.push(`/inbox/${r.id}/${encodeURIComponent(payload)}`)
  return {paths, runs}
}

const tabs = ['Timeline', 'Steps', 'Conversation', 'Log', 'Trail', 'Context', 'Events', 'Graph']

async function harmless(page, where) {
  await settled(page)
  const seen = await page.evaluate(() => ({
    canary: window.canary !== undefined,
    elements: [
      ...document.querySelectorAll(
        'body :is(img:not(.cm-widgetBuffer:not([src])), iframe, object, embed, style, script:not([src]), ' +
          'form[action], base, meta, link)',
      ),
    ].map(e => e.localName),
    links: [...document.querySelectorAll('a[href]:not(.react-flow__attribution a)')]
      .filter(a => a.origin !== location.origin)
      .map(a => a.href),
    handlers: [...document.querySelectorAll('body *')].flatMap(e =>
      e.getAttributeNames().filter(a => a.startsWith('on')),
    ),
    wider: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    turned: /.{0,20}[\u202a-\u202e\u2066-\u2069].{0,20}/.exec(document.body.innerText)?.[0] ?? '',
  }))
  check(
    `nothing runs at ${where}`,
    !seen.canary && seen.elements.length === 0 && seen.links.length === 0 && seen.handlers.length === 0,
    JSON.stringify(seen),
  )
  check(`nothing is wider than the window at ${where}`, !seen.wider)
  check(`nothing turns the direction of text at ${where}`, seen.turned === '', JSON.stringify(seen.turned))
}

// walk visits everything that the page shows, including each view of each run.
async function walk(page, origin, {paths, runs}) {
  for (const path of paths) {
    await page.goto(origin + path)
    await harmless(page, path)
  }
  for (const r of runs) {
    await page.goto(`${origin}/runs/${r.id}?tab=graph&step=1&q=canary`)
    for (const tab of tabs) {
      await settled(page)
      await page.getByRole('tab', {name: new RegExp(`^${tab}`)}).click()
      await harmless(page, `${tab} of ${r.name} ${r.id}`)
    }
  }
}

// files covers file names, which users also choose.
async function files(page, origin) {
  await page.goto(`${origin}/workflows`)
  await settled(page)
  await page.getByRole('button', {name: 'New from text'}).click()
  const dialog = page.getByRole('dialog', {name: 'New workflow'})
  for (const [name, text] of [
    [`${attacks[1]}.yaml`, letter],
    [`${attacks[5]}.yaml`, payload],
    ['deep.json', nestings(10_000)],
    ['long.json', `{"name": "${'x'.repeat(1_000_000)}"}`],
  ]) {
    await dialog.getByLabel(/^File/).setInputFiles({name, mimeType: 'text/yaml', buffer: Buffer.from(text)})
    await page.waitForFunction(
      begin => document.querySelector('dialog textarea')?.value.startsWith(begin),
      text.slice(0, 10),
    )
    await harmless(page, `the file ${name.slice(0, 40)}`)
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({state: 'detached'})
  await page.goto(`${origin}/workflows/all-canvas`)
  await settled(page)
  const loaded = page.waitForEvent('download')
  await page.getByRole('button', {name: 'Download'}).click()
  const name = (await loaded).suggestedFilename()
  check('a download is named after the workflow', name === 'all-canvas.json', name)
  await page.locator('main h1').first().click()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('canary')
  await harmless(page, 'the palette')
  await page.keyboard.press('Escape')
}

export async function spec(browser, {token, program, scratch}) {
  const fake = await model({home: scratch}, (system, n) => {
    if (system.includes('fails')) return {status: 400, error: payload}
    if (system.includes('long')) return {text: 'x'.repeat(5_000_000)}
    if (system.includes('deep')) return {text: nestings(10_000)}
    return n % 2 === 1 ? {text: payload, tool: {name: 'think', arguments: {thought: payload}}} : {text: payload}
  })
  const server = await serve({program, home: scratch, token})
  const bare = await proxy({without: ['content-security-policy']})
  bare.to(server.origin)
  try {
    await withPages(browser, server.origin, async ({open, allow, allowOrigin}) => {
      allowOrigin(bare.origin)
      allow(/status of (404|422)/)
      const world = await fill(caller(server.origin, token), server.origin)
      const visit = async origin => {
        const page = await open()
        await signIn(page, origin, token)
        const policy = await page.evaluate(() => fetch('/').then(a => a.headers.get('content-security-policy')))
        check('the policy is there, and is taken away', (policy === null) === (origin === bare.origin), String(policy))
        const some = list => (isLong || origin === bare.origin ? list : list.filter((_, i) => i % 8 === 0))
        await walk(page, origin, {paths: some(world.paths), runs: some(world.runs)})
        await files(page, origin)
        await page.goto(`${origin}${world.paths.find(p => p.startsWith('/inbox/'))}`)
        await settled(page)
        check('the page is usable', (await page.getByRole('button').count()) > 3)
      }
      await Promise.all([visit(server.origin), visit(bare.origin)])
    })
  } finally {
    bare.close()
    await server.kill()
    fake.close()
  }
}
