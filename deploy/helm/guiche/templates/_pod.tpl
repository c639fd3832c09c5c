{{- define "guiche.pod" -}}
automountServiceAccountToken: false
# Otherwise a Service named PORT or DATABASE_URL would set such variables.
enableServiceLinks: false
imagePullSecrets:
  {{- toYaml .Values.imagePullSecrets | nindent 2 }}
nodeSelector:
  {{- toYaml .Values.nodeSelector | nindent 2 }}
tolerations:
  {{- toYaml .Values.tolerations | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  # Group of mounted files.
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: tmp
    emptyDir: { medium: Memory, sizeLimit: 64Mi }
  {{- if .Values.filesSecret }}
  - name: files
    secret:
      secretName: {{ .Values.filesSecret }}
      defaultMode: 0440
  {{- end }}
{{- end }}

{{- define "guiche.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
{{- include "guiche.confined" . | nindent 0 }}
{{- end }}

{{- define "guiche.confined" -}}
envFrom:
  - configMapRef:
      name: {{ .Release.Name }}
  - secretRef:
      name: {{ required "existingSecret must name a Secret with DATABASE_URL and SECRET_KEY" .Values.existingSecret }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if .Values.filesSecret }}
  - name: files
    mountPath: /etc/guiche/files
    readOnly: true
  {{- end }}
{{- end }}

{{- define "guiche.listening" -}}
ports:
  - name: http
    containerPort: 3000
# Covers the migrations: nothing listens before they are done.
startupProbe:
  httpGet: { path: /livez, port: http }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 600
# The process answers. It must not ask for the database: a restart does not bring that back.
livenessProbe:
  httpGet: { path: /livez, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{- define "guiche.podMetadata" -}}
annotations:
  # Settings are read at the start, so a change of the ConfigMap replaces the pods.
  checksum/config: {{ toYaml .Values.config | sha256sum }}
{{- end }}

{{- define "guiche.rollout" -}}
revisionHistoryLimit: 5
# A migration may take minutes; the pods of the version before serve until then.
progressDeadlineSeconds: 1200
strategy:
  type: RollingUpdate
  rollingUpdate:
    maxUnavailable: 0
    maxSurge: 1
{{- end }}
