// Run it by: node scripts/guessable-passwords.mjs. It writes server/data/guessable-passwords.txt: what people choose
// when they must choose something long. The list is made from patterns, not copied from a leak.
// domain/users/password-rules.ts looks a password up in lower case, without spaces, and without the digits and signs at
// its ends.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** People choose these alone, followed by digits, repeated, and combined with each other. */
const FAVOURITES =
  words(`password passwort senha admin administrator user usuario welcome bemvindo login access acesso letmein secret segredo
  master mestre root system sistema qwerty asdfgh monkey dragon shadow sunshine princess princesa football futebol baseball superman batman iloveyou
  teamo amor love money dinheiro brasil brazil deus jesus jesuscristo minhasenha mypassword changeme trocar mudar default padrao test teste`)

/** People choose these alone, followed by digits, or repeated. */
const COMMON =
  words(`basketball computer internet michael jennifer jordan hunter killer summer winter spring autumn freedom flower chocolate
  cheese cookie banana orange butterfly starwars pokemon naruto minecraft mustang corvette ferrari porsche mercedes yamaha harley liverpool chelsea
  arsenal barcelona realmadrid juventus flamengo corinthians palmeiras saopaulo santos gremio internacional cruzeiro vasco botafogo fluminense
  atletico bahia fortaleza vitoria neymar ronaldo ronaldinho pele messi felicidade saudade esperanca familia mamae papai filho filha cachorro gatinho
  borboleta estrela coracao alegria vida minhavida meuamor amorzinho paixao anjo anjinho bebezinho lindinha gostosa gatinha feliz carnaval samba
  caipirinha feijoada riodejaneiro salvador recife curitiba brasilia portugal lisboa porto benfica sporting america canada london newyork
  california florida texas chicago boston windows microsoft google facebook instagram whatsapp linkedin youtube twitter amazon netflix spotify samsung
  iphone android apple nokia motorola company empresa business negocio office escritorio service servico support suporte server servidor database
  network rede security seguranca banco bank payment pagamento deposito deposit cartao credito debito conta cliente manager gerente diretor
  financeiro contabilidade vendas loja lojavirtual comercio mercado produto guest convidado student estudante teacher professor school escola
  engenheiro medico advogado musica music guitar guitarra violao piano rockandroll metallica nirvana beatles january february march april june july
  august september october november december janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro monday tuesday
  wednesday thursday friday saturday sunday segunda terca quarta quinta sexta sabado domingo maria jose joao ana antonio francisco carlos paulo
  pedro lucas marcos luis gabriel rafael daniel marcelo bruno eduardo felipe rodrigo gustavo fernando juliana patricia aline camila amanda
  bruna jessica leticia julia luciana vanessa mariana gabriela beatriz larissa fernanda adriana rafaela isabela alexandre andre anderson ricardo
  roberto sergio thiago vinicius william robert james david richard thomas charles christopher matthew anthony joshua andrew brandon nicole
  ashley elizabeth stephanie michelle samantha victoria alexandra charlie george thunder lightning phoenix tiger eagle lion wolf panther dolphin
  elephant rainbow diamond crystal golden silver purple yellow qazwsx zaqwsx trustno trustnoone whatever nothing forever together heaven angel
  blessed grace faith believe miracle gratidao obrigado obrigada gracasadeus deusefiel deusnocomando jesusteama cristo
  espiritosanto nossasenhora aparecida abracadabra opensesame abretesesamo supersecret topsecret confidential temporary temporario provisoria inicial`)

/** People choose these as they are. */
const PHRASES =
  words(`iloveyouforever iloveyousomuch ilovemyfamily ilovemymother ilovemyself iloveyoubaby iloveyoubabe iloveyoumore letmeinplease
  letmeinnow letmeinletmein thisismypassword thisispassword thisisapassword passwordispassword mypasswordis mysecretpassword ihatepasswords
  ihateyou idontknow idontremember iforgotmypassword forgotpassword nopassword newpassword oldpassword passwordone yourpassword correcthorsebatterystaple
  correcthorse thequickbrownfox thequickbrownfoxjumps loremipsum loremipsumdolor helloworld hellohello helloitsme whatsup maytheforcebewithyou
  maytheforce toinfinityandbeyond winteriscoming gameofthrones harrypotter lordoftherings starwarsfan startrek avengers spiderman ironman wonderwoman
  teamomuito teamoparasempre euteamo euteamomuito euteamodeus amominhafamilia minhafamilia minhasenhanova minhasenhasecreta novasenha novasenhanova
  senhasegura senhaforte senhanova senhasecreta senhaqualquer qualquersenha esqueciasenha esqueciminhasenha naosei naoseiasenha naolembro deusefiel
  deusemeupastor osenhoremeupastor senhorjesus jesusteama jesuscristoteama jesusmeusalvador deusnocontrole deusacimadetudo brasilacimadetudo
  vaicorinthians vaiflamengo mengaomeuamor palmeirasnaotemmundial verdao timao flamengomeuamor saopaulofc brasilcampeao hexacampeao rumoaohexa
  ordemeprogresso patriaamada gratidaosempre forcafeesperanca boanoite bomdia boatarde administrator administrador superadmin superuser rootroot
  adminadmin adminpassword passwordadmin testpassword passwordtest testtesttest usuarioteste senhateste testesenha welcomehome
  welcomeback welcometohell bemvindoaobrasil acessolivre acessorestrito abcdefghijkl abcdabcdabcd abcabcabcabc qwertyqwerty asdfghasdfgh`)

/** Rows and columns of keyboards, as fingers walk them. */
const WALKS = [
  'qwertyuiop',
  'asdfghjkl',
  'asdfghjklç',
  'zxcvbnm',
  'qwertzuiop',
  'azertyuiop',
  'qsdfghjklm',
  'wxcvbn',
  '1234567890',
  '0987654321',
]
const COLUMNS = [
  '1qaz',
  '2wsx',
  '3edc',
  '4rfv',
  '5tgb',
  '6yhn',
  '7ujm',
  '8ik,',
  '9ol.',
  '0p;/',
  'qaz',
  'wsx',
  'edc',
  'rfv',
  'tgb',
  'yhn',
  'ujm',
]
const NUMBERS = [
  '123',
  '1234',
  '12345',
  '123456',
  '1234567',
  '12345678',
  '123456789',
  '1234567890',
  '321',
  '4321',
  '54321',
  '654321',
  '987654321',
  '0987654321',
  '147258369',
  '159753',
  '112233',
  '11223344',
  '1122334455',
  '102030',
  '10203040',
  '121212',
  '131313',
  '147852369',
  '789456123',
  '741852963',
  '963852741',
]

const found = new Set([...FAVOURITES, ...COMMON, ...PHRASES])
for (const one of [...FAVOURITES, ...COMMON]) found.add(one + one)
for (const one of FAVOURITES) found.add(one + one + one)
const most = FAVOURITES.slice(0, 32)
for (const one of most) for (const other of most) found.add(one + other)
for (const one of COMMON) for (const other of ['senha', 'password']) found.add(one + other).add(other + one)
const walks = [...WALKS, ...WALKS.map(reversed)]
for (const one of walks) for (const other of walks) found.add(one + other)
for (const one of COLUMNS.slice(0, 10)) for (const other of COLUMNS.slice(0, 10)) found.add(one + other + one)
for (const from of [0, 1, 2, 3])
  found.add(COLUMNS.slice(from, from + 3).join('')).add(COLUMNS.slice(from, from + 4).join(''))
found.add(COLUMNS.slice(10, 14).join('')).add(COLUMNS.slice(10).join(''))
for (const one of NUMBERS) for (const other of NUMBERS) found.add(one + other)
for (const number of NUMBERS)
  for (const row of WALKS.slice(0, 4))
    for (const length of [3, 4, 6]) found.add(row.slice(0, length) + number).add(number + row.slice(0, length))
for (const walk of walks) for (let length = 6; length <= walk.length; length++) found.add(walk.slice(0, length))

// Texts of four letters occur in too many other passwords.
const list = [...found].filter((text) => text.length >= 5).toSorted((one, other) => (one < other ? -1 : 1))
const path = fileURLToPath(new URL('../server/data/guessable-passwords.txt', import.meta.url))
writeFileSync(path, `${list.join('\n')}\n`)
console.log(`${list.length} passwords in ${path}`)

function words(text) {
  return text.split(/\s+/).filter(Boolean)
}

function reversed(text) {
  return [...text].toReversed().join('')
}
