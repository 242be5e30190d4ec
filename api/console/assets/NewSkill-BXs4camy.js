import{t as e}from"./useMutation-tOePkAzX.js";import{q as t,t as n}from"./client-DeaHdXXp.js";import{r}from"./route-CIkTnbuD.js";import{t as i}from"./link-B5_659Q7.js";import{t as a}from"./useNavigate-DtD38gww.js";import{t as o}from"./save-OEPuVhSF.js";import{n as s,t as c}from"./Workbench-Bgk28QgM.js";import{a as l,n as u,t as d}from"./jsx-runtime-Wy9s6hX0.js";import{t as f}from"./useTranslation-DaMZIHzu.js";import{t as p}from"./Button-D-FQsIud.js";import{t as m}from"./ErrorNotice-PZa4Zygm.js";import{n as h}from"./Page-CbwDBu4q.js";import{n as g}from"./toasts-DuS_-i-e.js";import{t as _}from"./i18n-GIQmF5TQ.js";import{n as v,r as y,t as b}from"./drafts-DnaiD3ua.js";import{a as x,r as S}from"./skillQueries-Dwx3IIUY.js";var C=l(u(),1),w={templates:`_templates_156vy_1`,template:`_template_156vy_1`,languages:`_languages_156vy_21`},T={procedure:{en:`# SKILL: Release notes

## Description

Turns merged changes into release notes for users. Use when somebody asks what a release brings.

## When to use

- Somebody asks for release notes
- Keywords: changelog, release notes

## When not to use

- Questions about the date of a release

## Inputs

- \`version\` (string, required): the release
- \`most\` (integer, optional, default: 20, min 1, max 100): how many lines

## Steps

1. **Collect**: Find the changes of {{version}}.
   - Tool: \`search_knowledge_base\`
2. **Sort**: Put first what users notice first.
3. **Write**: At most {{most}} lines, one for each change.

## Output

- A Markdown list

## Rules

- No line without a change that it stands for

## Metadata

- category: Writing
- tags: release, changelog
`,zh:`# SKILL: 发布说明

## 描述

把已合并的改动整理成面向用户的发布说明，当用户询问某个版本有哪些变化时使用。

## 触发条件

- 用户要求写发布说明
- 关键词：更新日志、发布说明

## 不适用场景

- 询问版本发布日期

## 输入参数

- \`version\` (string, 必填): 版本
- \`most\` (integer, 可选, 默认: 20, min 1, max 100): 最多多少行

## 步骤

1. **收集**：查找 {{version}} 的改动。
   - 使用工具：\`search_knowledge_base\`
2. **排序**：用户最先注意到的放在前面。
3. **书写**：最多 {{most}} 行，每个改动一行。

## 输出

- Markdown 列表

## 约束

- 每一行都对应一个改动

## 元数据

- 分类: 写作
- 标签: 发布, 更新日志
`},standard:{en:`---

name: new-skill
description: What it does. Use when somebody asks for it.
---

# New skill

Tell the agent how to do the task, in your own words.
`,zh:`---

name: new-skill
description: 说明技能做什么。当用户提出相应请求时使用。
---

# 新技能

用自己的话告诉智能体如何完成任务。
`},blank:{en:`# SKILL: New skill

## Description

What it does. Use when somebody asks for it.
`,zh:`# SKILL: 新技能

## 描述

说明技能做什么。当用户提出相应请求时使用。
`}},E=d(),D=r(`/shell/skills/new`),O=`new`;function k(){let{t:e}=f([`skills`,`common`]),[t,n]=(0,C.useState)(()=>b(O)?.text??null);return v(O,t,0),(0,E.jsx)(h,{wide:t!==null,title:e(`new.title`),lead:e(t===null?`new.lead`:`new.lead_editor`),children:t===null?(0,E.jsx)(A,{onChoose:n}):(0,E.jsx)(j,{text:t,onText:n})})}function A({onChoose:e}){let{t}=f([`skills`,`common`]);return(0,E.jsx)(`div`,{className:w.templates,children:Object.keys(T).map(n=>(0,E.jsxs)(`section`,{className:w.template,children:[(0,E.jsx)(`h2`,{children:t(`new.template.${n}`)}),(0,E.jsx)(`p`,{children:t(`new.template.${n}_what`)}),(0,E.jsx)(`div`,{className:w.languages,children:Object.keys(_).map(r=>(0,E.jsx)(p,{onClick:()=>e(T[n][r]),children:t(`new.language.${r}`)},r))})]},n))})}function j({text:r,onText:l}){let{t:u}=f([`skills`,`common`]),{side:d}=D.useSearch(),h=a(),_=t(),v=e({mutationFn:e=>x(n.POST(`/api/v1/skills`,{body:{content:e,change_note:``}})),onSuccess:async e=>{l(null),y(O,null),await S(_,e),g(u(`new.created`,{name:e.skill.name})),await h({to:`/skills/$skillId`,params:{skillId:e.skill.id}})}});return(0,E.jsxs)(E.Fragment,{children:[v.error&&(0,E.jsx)(m,{error:v.error}),(0,E.jsx)(c,{text:r,onText:l,onSave:e=>v.mutate(e),skillId:null,readOnly:!1,side:d,sideLinks:(0,E.jsxs)(E.Fragment,{children:[(0,E.jsx)(i,{from:`/skills/new`,to:`.`,search:{},replace:!0,"aria-current":d?void 0:`true`,children:u(`editor.form`)}),(0,E.jsx)(i,{from:`/skills/new`,to:`.`,search:{side:`preview`},replace:!0,"aria-current":d?`true`:void 0,children:u(`editor.preview`)})]}),toolbar:e=>(0,E.jsxs)(E.Fragment,{children:[(0,E.jsx)(p,{variant:`primary`,icon:o,busy:v.isPending,onClick:e,children:u(`new.create`)}),(0,E.jsx)(p,{icon:s,onClick:()=>l(null),children:u(`new.again`)})]})})]})}export{k as NewSkill};